package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

// rpcClient is a plain JSON-RPC client: requests out, replies and
// notifications in, echo requests answered.
type rpcClient struct {
	net    net.Conn
	notify func(method string, params json.RawMessage) // nil drops notifications

	mu      sync.Mutex
	next    int
	pending map[int]chan *rpcReply
	err     error // why the connection ended
	ended   chan struct{}
}

type rpcReply struct {
	result json.RawMessage
	err    json.RawMessage
}

// rpcError is the "error" member of a reply.
type rpcError struct{ text json.RawMessage }

func (e *rpcError) Error() string { return string(e.text) }

func dialRPC(ctx context.Context, endpoint string, notify func(string, json.RawMessage)) (*rpcClient, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	c := &rpcClient{net: nc, notify: notify, pending: map[int]chan *rpcReply{}, ended: make(chan struct{})}
	go c.read()
	return c, nil
}

// close ends the connection and waits for its goroutine.
func (c *rpcClient) close() {
	_ = c.net.Close() // an error means that it is closed already
	<-c.ended
}

func (c *rpcClient) call(ctx context.Context, method string, params ...any) (json.RawMessage, error) {
	if params == nil {
		params = []any{}
	}
	reply := make(chan *rpcReply, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = reply
	err := c.write(map[string]any{"method": method, "params": params, "id": id})
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-reply:
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", method, &rpcError{r.err})
		}
		return r.result, nil
	case <-c.ended:
		return nil, fmt.Errorf("%s: %w", method, c.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
}

// write sends a message; c.mu is held, which keeps messages whole.
func (c *rpcClient) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.net.Write(text)
	return err
}

func (c *rpcClient) read() {
	defer close(c.ended)
	dec := json.NewDecoder(c.net)
	for {
		var m struct {
			Method *string         `json:"method"`
			Params json.RawMessage `json:"params"`
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := dec.Decode(&m); err != nil {
			c.err = err
			return
		}
		switch {
		case m.Method == nil:
			c.answer(m.ID, m.Result, m.Error)
		case *m.Method == "echo":
			c.mu.Lock()
			err := c.write(map[string]any{"id": m.ID, "result": m.Params, "error": nil})
			c.mu.Unlock()
			if err != nil {
				c.err = err
				return
			}
		case c.notify != nil:
			c.notify(*m.Method, m.Params)
		}
	}
}

func (c *rpcClient) answer(rawID, result, failure json.RawMessage) {
	var id int
	if json.Unmarshal(rawID, &id) != nil {
		return
	}
	c.mu.Lock()
	reply := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if reply == nil {
		return
	}
	if string(failure) == "null" {
		failure = nil
	}
	reply <- &rpcReply{result, failure}
}

// alive tells whether the connection has not ended.
func (c *rpcClient) alive() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}
