package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// historyLength is how many transactions monitor_cond_since can replay, as
// many as ovsdb-server keeps for a clustered database.
const historyLength = 100

// database is one served database: its rows, who monitors it, and the last
// transactions.
type database struct {
	mu       sync.Mutex
	store    *store
	monitors []*monitor
	history  []committed
	last     uuidAtom // id of the last transaction
	// changed is closed, and replaced, after each commit.
	changed chan struct{}
}

type committed struct {
	id      uuidAtom
	changes []change
}

var errStopped = errors.New("database server stopped")

func newDatabase(s Schema) *database {
	return &database{store: newStore(s), last: newUUID(), changed: make(chan struct{})}
}

// request is a transaction to run.
type request struct {
	ops   []json.RawMessage
	holds func(lock string) bool // whether the client owns a lock
	// reply gets the results, after the updates have been queued to every
	// monitor and before any later transaction runs. It must not block.
	reply func(results []any)
	// blocked is called each time a "wait" does not hold yet.
	blocked func()
}

// transact runs a request. It blocks while a "wait" does not hold; then ctx
// can end it, without a reply and with the context's cause as error.
func (db *database) transact(ctx context.Context, rq request) error {
	start, expired := time.Now(), false
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait, changed := db.attempt(rq, start, expired)
		if wait == nil {
			return nil
		}
		rq.blocked()
		expired = wait.sleep(ctx, start, changed)
	}
}

// sleep waits until changed or ctx ends; true means that the time is over.
func (w *waitOp) sleep(ctx context.Context, start time.Time, changed <-chan struct{}) bool {
	var expiry <-chan time.Time
	if !w.forever {
		timer := time.NewTimer(time.Until(start.Add(w.timeout)))
		defer timer.Stop()
		expiry = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-expiry:
		return true
	}
	return false
}

// attempt runs the operations once. It returns the wait that does not hold yet
// and a channel that is closed at the next commit.
func (db *database) attempt(rq request, start time.Time, expired bool) (*waitOp, <-chan struct{}) {
	db.mu.Lock()
	defer db.mu.Unlock()
	out := newTransaction(db.store, rq.holds).run(rq.ops)
	if w := out.wait; w != nil {
		if w.forever || (!expired && time.Since(start) < w.timeout) {
			return w, db.changed
		}
		out.timedOut()
	}
	if !out.failed && len(out.changes) > 0 {
		db.commit(out.changes)
	}
	rq.reply(out.results)
	return nil, nil
}

// commit applies changes and queues the updates. db.mu is held.
func (db *database) commit(changes []change) {
	db.store.apply(changes)
	db.last = newUUID()
	db.history = append(db.history, committed{db.last, changes})
	if n := len(db.history) - historyLength; n > 0 {
		db.history = append([]committed(nil), db.history[n:]...)
	}
	for _, m := range db.monitors {
		m.notify(db.last, changes)
	}
	close(db.changed)
	db.changed = make(chan struct{})
}

// since is the net effect of the transactions after id; ok is false when id is
// not known any more.
func (db *database) since(id uuidAtom) (net []change, ok bool) {
	if id == db.last {
		return nil, true
	}
	for i, c := range db.history {
		if c.id == id {
			return netChanges(db.history[i+1:]), true
		}
	}
	return nil, false
}

func netChanges(history []committed) []change {
	position := map[ref]int{}
	var out []change
	for _, tx := range history {
		for _, c := range tx.changes {
			at := ref{c.table.name, c.uuid()}
			if i, seen := position[at]; seen {
				out[i].new = c.new
				continue
			}
			position[at] = len(out)
			out = append(out, c)
		}
	}
	kept := out[:0]
	for _, c := range out {
		if c.old != nil || c.new != nil {
			kept = append(kept, c)
		}
	}
	return kept
}

func (db *database) removeMonitor(m *monitor) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i, x := range db.monitors {
		if x == m {
			db.monitors = append(db.monitors[:i:i], db.monitors[i+1:]...)
			return
		}
	}
}

// forget drops what a server loses when its process restarts.
func (db *database) forget() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.history, db.last = nil, newUUID()
	db.store.clearEphemeral()
}
