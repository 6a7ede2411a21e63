package ovsdb

import (
	"slices"
	"sync"
)

// locks are a server's named locks (RFC 7047 sections 4.1.8 to 4.1.10). The
// first in a queue is the owner.
type locks struct {
	mu     sync.Mutex
	queues map[string][]*conn
}

func newLocks() *locks { return &locks{queues: map[string][]*conn{}} }

func (l *locks) owns(c *conn, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	return len(q) > 0 && q[0] == c
}

// acquire queues c for a lock, at the front to steal it, and calls reply with
// whether c owns it now, before any notification to others.
func (l *locks) acquire(c *conn, name string, steal bool, reply func(owned bool)) *dbError {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[name]
	if slices.Contains(q, c) {
		return syntaxError([]any{name}, "must issue \"unlock\" before new \"lock\"")
	}
	if !steal {
		l.queues[name] = append(q, c)
		reply(len(q) == 0)
		return nil
	}
	l.queues[name] = append([]*conn{c}, q...)
	if len(q) > 0 {
		q[0].notify("stolen", []any{name})
	}
	reply(true)
	return nil
}

func (l *locks) unlock(c *conn, name string) *dbError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.queues[name], c) {
		return syntaxError([]any{name}, "unlock: \"unlock\" without \"lock\" or \"steal\"")
	}
	l.leave(c, name)
	return nil
}

// release drops every lock and claim of a client that is gone.
func (l *locks) release(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.queues {
		l.leave(c, name)
	}
}

// leave removes c from a queue and tells the owner, as ovsdb-server does even
// if it was the owner before.
func (l *locks) leave(c *conn, name string) {
	q := l.queues[name]
	i := slices.Index(q, c)
	if i < 0 {
		return
	}
	q = slices.Delete(slices.Clone(q), i, i+1)
	if len(q) == 0 {
		delete(l.queues, name)
		return
	}
	l.queues[name] = q
	q[0].notify("locked", []any{name})
}
