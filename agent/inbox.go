package agent

import "sync"

// inbox hands work to the goroutine that owns the agent's state. Posting never
// blocks, so a long step never holds up a connection.
type inbox struct {
	mu     sync.Mutex
	queue  []func(*core)
	signal chan struct{}
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

// post adds work; it is done in order.
func (b *inbox) post(work func(*core)) {
	b.mu.Lock()
	b.queue = append(b.queue, work)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

// take returns everything posted so far.
func (b *inbox) take() []func(*core) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue := b.queue
	b.queue = nil
	return queue
}
