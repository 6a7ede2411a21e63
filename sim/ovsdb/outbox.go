package ovsdb

import (
	"bytes"
	"sync"
)

// outbox is the queue of messages to one client. Adding never blocks.
type outbox struct {
	mu     sync.Mutex
	ready  *sync.Cond
	queue  bytes.Buffer
	closed bool
	limit  int // bytes
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.ready = sync.NewCond(&o.mu)
	return o
}

// add queues a message; false means that the queue is full or closed.
func (o *outbox) add(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.queue.Len()+len(message) > o.limit {
		return false
	}
	o.queue.Write(message)
	o.ready.Signal()
	return true
}

// take waits for messages and returns all there are; false after close.
func (o *outbox) take() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.queue.Len() == 0 && !o.closed {
		o.ready.Wait()
	}
	if o.closed {
		return nil, false
	}
	batch := bytes.Clone(o.queue.Bytes())
	o.queue.Reset()
	return batch, true
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.ready.Broadcast()
}
