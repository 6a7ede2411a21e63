package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// probeInterval is ovsdb-server's default inactivity probe of its clients.
const probeInterval = 5 * time.Second

// queueLimit is how many bytes may wait for a client that does not read before
// it is disconnected.
const queueLimit = 256 << 20

// Memory is a Server that keeps its database in memory.
type Memory struct {
	endpoint  string
	databases map[string]*database
	main      *database
	locks     *locks
	probe     time.Duration

	queueLimit int
	log        *slog.Logger

	mu       sync.Mutex
	id       uuidAtom
	listener net.Listener // nil while stopped
	conns    map[*conn]struct{}
	serving  *sync.WaitGroup
	stopped  bool
}

// Option changes a memory server.
type Option func(*Memory)

// WithProbe sets how long a client may be silent before it is sent an echo
// request, and after that before it is disconnected; 0 never probes. The
// default is ovsdb-server's, 5 s.
func WithProbe(d time.Duration) Option { return func(m *Memory) { m.probe = d } }

// WithQueueLimit sets how many bytes may wait for a client that does not read
// before it is disconnected; the default is 256 MiB.
func WithQueueLimit(bytes int) Option { return func(m *Memory) { m.queueLimit = bytes } }

// NewMemory starts a server for an empty database. listen is "unix:PATH" or
// "tcp:HOST:PORT"; with port 0 a free one is taken, see Endpoint.
func NewMemory(schema Schema, listen string, log *slog.Logger, options ...Option) (*Memory, error) {
	own, err := serverSchema()
	if err != nil {
		return nil, fmt.Errorf("memory server: %w", err)
	}
	main, meta := newDatabase(schema), newDatabase(own)
	m := &Memory{
		endpoint:   listen,
		databases:  map[string]*database{schema.Name(): main, own.Name(): meta},
		main:       main,
		locks:      newLocks(),
		probe:      probeInterval,
		queueLimit: queueLimit,
		log:        log.With("server", "memory", "database", schema.Name()),
		conns:      map[*conn]struct{}{},
	}
	for _, o := range options {
		o(m)
	}
	meta.describe(main.store.schema, own)
	if err := m.start(); err != nil {
		return nil, fmt.Errorf("memory server for %s: %w", schema.Name(), err)
	}
	return m, nil
}

// describe inserts the rows of the _Server database.
func (db *database) describe(schemas ...Schema) {
	t := db.store.schema.tables["Database"]
	var rows []change
	for _, s := range schemas {
		r := t.newRow(newUUID())
		for column, value := range map[string]atom{"name": s.name, "model": "standalone", "connected": true, "leader": true, "schema": string(s.text)} {
			r.columns[column] = datum{keys: []atom{value}}
		}
		rows = append(rows, change{table: t, new: r})
	}
	db.store.apply(rows)
}

// Endpoint implements Server.
func (m *Memory) Endpoint() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.endpoint
}

// Kind implements Server.
func (m *Memory) Kind() string { return "memory" }

// Schema implements Server.
func (m *Memory) Schema() Schema { return m.main.store.schema }

// Transact implements Server.
func (m *Memory) Transact(ctx context.Context, ops ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	if m.isStopped() {
		return nil, errStopped
	}
	raw, err := encodeOperations(ops)
	if err != nil {
		return nil, err
	}
	var text []byte
	var encodeErr error
	err = m.main.transact(ctx, request{
		ops:     raw,
		holds:   func(string) bool { return false },
		reply:   func(results []any) { text, encodeErr = json.Marshal(results) },
		blocked: func() {},
	})
	if err := errors.Join(err, encodeErr); err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	return decodeResults(text, ops)
}

// Restart implements Server.
func (m *Memory) Restart(ctx context.Context, whileDown func()) error {
	if m.isStopped() {
		return errStopped
	}
	m.shutDown()
	m.main.forget()
	if whileDown != nil {
		whileDown()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("restart %s: %w", m.Schema().Name(), err)
	}
	return m.start()
}

// Stop implements Server.
func (m *Memory) Stop() error {
	m.mu.Lock()
	again := m.stopped
	m.stopped = true
	m.mu.Unlock()
	if again {
		return errStopped
	}
	m.shutDown()
	return nil
}

func (m *Memory) isStopped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopped
}

func (m *Memory) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return errStopped
	}
	l, endpoint, err := listenOn(m.endpoint)
	if err != nil {
		return err
	}
	m.listener, m.endpoint, m.id, m.serving = l, endpoint, newUUID(), &sync.WaitGroup{}
	serving := m.serving
	serving.Go(func() { m.accept(l, serving) })
	return nil
}

func (m *Memory) accept(l net.Listener, serving *sync.WaitGroup) {
	for {
		nc, err := l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				m.log.Error("accept", "error", err)
			}
			return
		}
		c := newConn(m, nc)
		if !m.track(l, c) {
			c.close()
			return
		}
		serving.Go(func() {
			c.serve()
			m.mu.Lock()
			delete(m.conns, c)
			m.mu.Unlock()
		})
	}
}

// track remembers a connection unless its listener is closed already.
func (m *Memory) track(l net.Listener, c *conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listener != l {
		return false
	}
	m.conns[c] = struct{}{}
	return true
}

// shutDown closes the listener and all connections and waits for their
// goroutines.
func (m *Memory) shutDown() {
	m.mu.Lock()
	l, serving := m.listener, m.serving
	m.listener = nil
	for c := range m.conns {
		c.close()
	}
	m.mu.Unlock()
	if l == nil {
		return
	}
	if err := l.Close(); err != nil {
		m.log.Error("close listener", "error", err)
	}
	serving.Wait()
}

// Clients is the number of connected clients.
func (m *Memory) Clients() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.conns)
}

func (m *Memory) databaseNames() []string {
	names := make([]string, 0, len(m.databases))
	for name := range m.databases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (m *Memory) serverID() uuidAtom {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id
}
