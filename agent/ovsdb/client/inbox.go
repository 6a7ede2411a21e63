package client

import "sync"

// inbox holds what the reader has received, in order, until it is taken. Putting
// never blocks, so that the server's echo is answered however long a change takes
// to be delivered.
type inbox struct {
	arrived chan struct{} // has an element when there may be something to take

	mu       sync.Mutex
	messages []message
	end      error // why nothing more will come; after the messages
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	b.announce()
}

// close says that nothing more will come. The first reason stays.
func (b *inbox) close(reason error) {
	b.mu.Lock()
	if b.end == nil {
		b.end = reason
	}
	b.mu.Unlock()
	b.announce()
}

func (b *inbox) announce() {
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// take returns the oldest message; or why there will be none; or neither, when
// none is there yet.
func (b *inbox) take() (m message, ok bool, end error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 {
		return message{}, false, b.end
	}
	m = b.messages[0]
	b.messages[0] = message{}
	b.messages = b.messages[1:]
	return m, true, nil
}
