package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// message is a JSON-RPC 1.0 message (RFC 7047 section 4) as it is received.
type message struct {
	Method *string           `json:"method"`
	Params []json.RawMessage `json:"params"`
	ID     json.RawMessage   `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  json.RawMessage   `json:"error"`
}

// conn is one client. A goroutine reads and answers requests in order, another
// writes what is queued in out.
type conn struct {
	server   *Memory
	net      net.Conn
	out      *outbox
	ctx      context.Context
	cancel   context.CancelCauseFunc
	received atomic.Int64 // bytes, to see whether the client is alive
	blocked  sync.WaitGroup

	// Used by the reading goroutine only.
	monitors map[string]*subscription

	mu      sync.Mutex
	waiting map[string]context.CancelFunc // blocked transactions by request id
}

// subscription is a monitor of this connection and the database it is on.
type subscription struct {
	monitor  *monitor
	database *database
}

func newConn(s *Memory, nc net.Conn) *conn {
	c := &conn{server: s, net: nc, out: newOutbox(s.queueLimit), monitors: map[string]*subscription{}, waiting: map[string]context.CancelFunc{}}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// serve runs the connection to its end and releases what it held.
func (c *conn) serve() {
	var helpers sync.WaitGroup
	helpers.Go(c.write)
	if c.server.probe > 0 {
		helpers.Go(c.probe)
	}
	err := c.read()
	c.server.log.Debug("client gone", "peer", c.net.RemoteAddr().String(), "reason", err)
	c.close()
	c.blocked.Wait()
	helpers.Wait()
	for _, s := range c.monitors {
		s.database.removeMonitor(s.monitor)
	}
	c.server.locks.release(c)
}

func (c *conn) close() {
	c.cancel(errors.New("connection closed"))
	c.out.close()
	if err := c.net.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		c.server.log.Debug("close connection", "error", err)
	}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.net.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func (c *conn) read() error {
	dec := json.NewDecoder(c)
	for {
		var m message
		if err := dec.Decode(&m); err != nil {
			return err
		}
		if m.Method != nil {
			c.dispatch(&m)
		}
	}
}

func (c *conn) write() {
	for {
		batch, ok := c.out.take()
		if !ok {
			return
		}
		if _, err := c.net.Write(batch); err != nil {
			c.close()
			return
		}
	}
}

// probe sends an echo request to a silent client and disconnects one that
// stays silent, as ovsdb-server does (inactivity_probe).
func (c *conn) probe() {
	tick := time.NewTicker(c.server.probe)
	defer tick.Stop()
	seen, asked := c.received.Load(), false
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		switch now := c.received.Load(); {
		case now != seen:
			seen, asked = now, false
		case asked:
			c.server.log.Info("client does not answer the inactivity probe", "peer", c.net.RemoteAddr().String())
			c.close()
			return
		default:
			asked = true
			c.send(map[string]any{"method": "echo", "params": []any{}, "id": "echo"})
		}
	}
}

// send queues a message. A client whose queue overflows is disconnected.
func (c *conn) send(v any) {
	text, err := json.Marshal(v)
	if err != nil { // every value sent comes from decoded JSON
		c.server.log.Error("encode message", "error", err)
		return
	}
	if !c.out.add(text) && c.ctx.Err() == nil {
		c.server.log.Warn("client does not read, disconnecting it", "peer", c.net.RemoteAddr().String())
		c.close()
	}
}

func (c *conn) notify(method string, params []any) {
	c.send(map[string]any{"method": method, "params": params, "id": nil})
}

func (c *conn) reply(id json.RawMessage, result any) {
	c.send(map[string]any{"id": id, "result": result, "error": nil})
}

func (c *conn) fail(id json.RawMessage, err error) {
	var dbErr *dbError
	var text any = err.Error()
	if errors.As(err, &dbErr) {
		text = dbErr.json()
	}
	c.send(map[string]any{"id": id, "error": text})
}
