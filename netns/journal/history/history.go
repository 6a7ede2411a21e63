// Package history is an append-only record of what was observed, with positions
// in it and a way to wait for more. The announcement timeline and the kernel
// journal are both one.
package history

import (
	"context"
	"sync"
	"time"
)

// Mark is a position in a [Log]: everything appended later is "since" it. The
// zero Mark is the beginning.
type Mark struct {
	// Seq is the number of items before the position.
	Seq int
	// Time is when the position was taken.
	Time time.Time
}

// Log is an append-only sequence, safe for concurrent use. The zero value is not
// usable; see [New].
type Log[T any] struct {
	mu      sync.Mutex
	items   []T
	changed chan struct{} // closed and replaced at each append
}

// New returns an empty log.
func New[T any]() *Log[T] {
	return &Log[T]{changed: make(chan struct{})}
}

// Append adds the item that the function returns for its sequence number, which counts
// from 0, and wakes those who wait.
func (l *Log[T]) Append(item func(seq int) T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item(len(l.items)))
	close(l.changed)
	l.changed = make(chan struct{})
}

// Now is the present end of the log.
func (l *Log[T]) Now() Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Mark{Seq: len(l.items), Time: time.Now()}
}

// Since returns the items after the mark, oldest first. The caller must not
// change them.
func (l *Log[T]) Since(mark Mark) []T {
	items, _ := l.snapshot()
	return items[min(mark.Seq, len(items)):]
}

// WaitFor returns nil as soon as cond holds; it is asked once at the start and
// again after appends, never concurrently. When ctx ends first its cause is
// returned.
func (l *Log[T]) WaitFor(ctx context.Context, cond func() bool) error {
	for {
		_, changed := l.snapshot()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Log[T]) snapshot() ([]T, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[:len(l.items):len(l.items)], l.changed
}
