package client

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// tables is the content of a database: table → UUID → row.
type tables = map[string]map[string]libovsdb.Row

// recorder runs a client and keeps what it says.
type recorder struct {
	t      testing.TB
	client *Client
	stop   context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	changes []Change
	states  []State
	events  []string // complete, partial, connected, lost: in order
	log     strings.Builder
	mirror  tables
	hold    func() // called while a change is being delivered
}

// record starts a client; short probe, timeout and backoff unless set.
func record(t testing.TB, config Config) *recorder {
	t.Helper()
	r := newRecorder(t, config)
	r.start()
	return r
}

func newRecorder(t testing.TB, config Config) *recorder {
	r := &recorder{t: t, ended: make(chan struct{}), mirror: tables{}}
	config.Timeout = or(config.Timeout, patience)
	config.BackoffMin = or(config.BackoffMin, time.Millisecond)
	config.BackoffMax = or(config.BackoffMax, 20*time.Millisecond)
	config.Changed = r.changed
	config.Log = slog.New(slog.NewTextHandler(lockedWriter{r}, nil))
	r.client = New(config)
	return r
}

func (r *recorder) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.ended)
		if err := r.client.Run(ctx, r.deliver); err != context.Canceled {
			r.t.Errorf("Run: %v", err)
		}
	}()
	r.t.Cleanup(r.end)
}

// end stops the client and waits for it.
func (r *recorder) end() {
	r.stop()
	<-r.ended
}

type lockedWriter struct{ r *recorder }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return w.r.log.Write(p)
}

func (r *recorder) deliver(c Change) {
	if r.hold != nil {
		r.hold()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, c)
	if c.Complete {
		r.events = append(r.events, "complete")
		r.mirror = tables{}
	} else {
		r.events = append(r.events, "partial")
	}
	for table, rows := range c.Tables {
		if r.mirror[table] == nil {
			r.mirror[table] = map[string]libovsdb.Row{}
		}
		for uuid, row := range rows {
			if row == nil {
				delete(r.mirror[table], uuid)
			} else {
				r.mirror[table][uuid] = row
			}
		}
	}
}

func (r *recorder) changed(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.states); n == 0 && s.Connected || n > 0 && r.states[n-1].Connected != s.Connected {
		r.events = append(r.events, map[bool]string{true: "connected", false: "lost"}[s.Connected])
	}
	r.states = append(r.states, s)
}

// awaitConnected waits until the n-th download has been delivered.
func (r *recorder) awaitConnected(n int) {
	r.t.Helper()
	defer func() {
		if r.t.Failed() {
			r.t.Logf("state %+v, log:\n%s", r.client.State(), r.logged())
		}
	}()
	await(r.t, fmt.Sprint("connection ", n), func() bool {
		s := r.client.State()
		return s.Connected && s.Reconnects >= n-1
	})
}

// awaitError waits until the client is not connected for this reason.
func (r *recorder) awaitError(part string) {
	r.t.Helper()
	await(r.t, "error "+part, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.ContainsFunc(r.states, func(s State) bool {
			return !s.Connected && s.Err != nil && strings.Contains(s.Err.Error(), part)
		})
	})
}

func (r *recorder) barrier() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.client.Barrier(ctx); err != nil {
		r.t.Fatalf("barrier: %v\n%s", err, r.logged())
	}
}

func (r *recorder) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// since returns the changes from the n-th on.
func (r *recorder) since(n int) []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes[n:])
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.changes)
}

func (r *recorder) history() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *recorder) rows() tables {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := tables{}
	for table, rows := range r.mirror {
		copied[table] = maps.Clone(rows)
	}
	return copied
}

func (r *recorder) row(table, uuid string) libovsdb.Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mirror[table][uuid]
}
