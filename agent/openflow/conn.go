package openflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

var errClosed = errors.New("connection closed")

// conn is one connection to a bridge, after the exchange of HELLOs. Calls may
// overlap; their replies are told apart by xid.
type conn struct {
	stream  net.Conn
	version byte
	timeout time.Duration

	writing sync.Mutex

	mu    sync.Mutex
	xid   uint32
	calls map[uint32]*call
	err   error // why the connection ended
}

// call is a batch of messages of which the last is one that is answered.
type call struct {
	last    uint32 // xid of the last message
	replies []message
	err     error
	done    chan struct{} // closed once the last message is answered or cannot be
}

// dial connects to the OpenFlow socket of a bridge and agrees on a version.
func dial(ctx context.Context, path string, timeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stream, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	version, err := negotiate(stream)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = stream.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("exchange of OpenFlow HELLO: %w", err)
	}
	return &conn{stream: stream, version: version, timeout: timeout, calls: map[uint32]*call{}}, nil
}

func negotiate(stream io.ReadWriter) (byte, error) {
	if _, err := stream.Write(hello().encode()); err != nil {
		return 0, err
	}
	m, err := readMessage(stream)
	if err != nil {
		return 0, err
	}
	switch m.kind {
	case typeHello:
	case typeError:
		return 0, decodeError(m.body)
	default:
		return 0, fmt.Errorf("the switch begins with OpenFlow message type %d", m.kind)
	}
	theirs := helloVersions(m)
	common := theirs & offered
	if common == 0 {
		return 0, fmt.Errorf("the bridge allows only protocols %s, and one of %s is needed", protocols(theirs), protocols(offered))
	}
	return highest(common), nil
}

// receive handles what the switch sends until the connection ends, and returns
// why it did.
func (c *conn) receive() error {
	for {
		m, err := readMessage(c.stream)
		if err != nil {
			return c.end(err)
		}
		switch m.kind {
		case typeEchoRequest:
			m.kind = typeEchoReply
			if err := c.write(m.encode()); err != nil {
				return c.end(err)
			}
		case typeError, typeMultipartReply, typeBarrierReply:
			c.answer(m)
		}
	}
}

// answer gives a reply to the call that it belongs to.
func (c *conn) answer(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.calls[m.xid]
	if waiting == nil {
		return
	}
	if m.kind == typeError && waiting.err == nil {
		waiting.err = decodeError(m.body)
	}
	waiting.replies = append(waiting.replies, m)
	if m.xid == waiting.last && !moreFollow(m) {
		c.finish(waiting)
	}
}

func moreFollow(m message) bool {
	return m.kind == typeMultipartReply && len(m.body) >= 4 && m.body[3]&multipartMore != 0
}

func (c *conn) finish(done *call) {
	for xid, waiting := range c.calls {
		if waiting == done {
			delete(c.calls, xid)
		}
	}
	close(done.done)
}

// end closes the connection; every call under way fails. The first reason stands.
func (c *conn) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.err = err
	_ = c.stream.Close()
	for _, waiting := range c.calls {
		if waiting.err == nil {
			waiting.err = fmt.Errorf("OpenFlow connection ended: %w", err)
		}
		c.finish(waiting)
	}
	return err
}

// ended tells whether the connection can no longer be used.
func (c *conn) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// call sends messages, the last of which is answered, and waits for the replies.
// A switch that does not answer in time loses its connection.
func (c *conn) call(ctx context.Context, batch ...message) ([]message, error) {
	waiting, data, err := c.register(batch)
	if err != nil {
		return nil, err
	}
	defer c.forget(waiting)
	if err := c.write(data); err != nil {
		return nil, c.end(err)
	}
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case <-waiting.done:
		return waiting.replies, waiting.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		err := fmt.Errorf("no answer within %v", c.timeout)
		_ = c.end(err)
		return nil, err
	}
}

func (c *conn) register(batch []message) (*call, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, nil, fmt.Errorf("OpenFlow connection ended: %w", c.err)
	}
	waiting := &call{done: make(chan struct{})}
	var data []byte
	for _, m := range batch {
		c.xid++
		m.version, m.xid = c.version, c.xid
		c.calls[c.xid] = waiting
		data = append(data, m.encode()...)
	}
	waiting.last = c.xid
	return waiting, data, nil
}

func (c *conn) forget(waiting *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for xid, other := range c.calls {
		if other == waiting {
			delete(c.calls, xid)
		}
	}
}

func (c *conn) write(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.stream.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.stream.Write(data)
	return err
}
