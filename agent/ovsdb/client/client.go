package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrNotConnected: there is no connection, or it has not completed its download.
var ErrNotConnected = errors.New("not connected to the database server")

// Defaults of [Config].
const (
	DefaultProbe      = 60 * time.Second
	DefaultTimeout    = 10 * time.Second
	DefaultBackoffMin = 100 * time.Millisecond
	DefaultBackoffMax = 5 * time.Second
)

// Config says what to monitor, and where. Durations of 0 take their default.
type Config struct {
	Database string // for example OVN_Northbound
	// Endpoints are tried in turn: unix:PATH, tcp:HOST:PORT, ssl:HOST:PORT, an IPv6
	// address in brackets.
	Endpoints []string
	Tables    []Table
	// TLS is asked before each connection to an ssl: endpoint, so that replaced
	// certificates are used; see [TLSFiles].
	TLS func() (*tls.Config, error)
	// Probe is the inactivity probe: after so much silence an echo is requested,
	// after as much again the connection is given up.
	Probe time.Duration
	// Timeout bounds connecting, the TLS handshake, and the wait for the first
	// answer, each; not the download, which is alive while it makes progress.
	Timeout time.Duration
	// The wait between attempts doubles from BackoffMin to BackoffMax; a download
	// resets it.
	BackoffMin, BackoffMax time.Duration
	LeaderOnly             bool         // of a clustered database, take only the leader
	Log                    *slog.Logger // nil: nothing is logged
	// Changed, if not nil, is told of each new state, on the goroutine of Run.
	Changed func(State)
}

// State is the state of the connection.
type State struct {
	Endpoint   string    // the one connected to, or last tried
	Connected  bool      // a complete download has been delivered and is followed
	Since      time.Time // when Connected took its present value
	Reconnects int       // complete downloads after the first
	Err        error     // why not connected; nil before the first failure
}

// Client keeps one connection to a database server. See the package's
// documentation for what it promises.
type Client struct {
	config  Config
	log     *slog.Logger
	backoff backoff
	repeats repeats

	mu      sync.Mutex
	state   State
	session *session // while connected
	loads   int      // complete downloads
}

// New returns a client that does nothing until Run.
func New(config Config) *Client {
	config.Probe = or(config.Probe, DefaultProbe)
	config.Timeout = or(config.Timeout, DefaultTimeout)
	config.BackoffMin = or(config.BackoffMin, DefaultBackoffMin)
	config.BackoffMax = max(or(config.BackoffMax, DefaultBackoffMax), config.BackoffMin)
	log := config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Client{
		config: config, log: log.With("database", config.Database), state: State{Since: time.Now()},
		backoff: backoff{minimum: config.BackoffMin, maximum: config.BackoffMax, endpoints: len(config.Endpoints)},
	}
}

func or(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// Run connects, and reconnects, until ctx ends; it returns ctx's error then, or at
// once that of an unusable configuration. It is called once. deliver gets the
// changes in order, always from the goroutine of Run; while it works, later
// changes wait in memory. It must not call Barrier.
func (c *Client) Run(ctx context.Context, deliver func(Change)) error {
	endpoints, err := c.endpoints()
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		endpoint := endpoints[i%len(endpoints)]
		downloaded, err := c.connect(ctx, endpoint, deliver)
		if ctx.Err() != nil {
			c.set(State{Endpoint: endpoint.text, Err: ctx.Err()}, nil)
			return ctx.Err()
		}
		if !pause(ctx, c.lost(endpoint, downloaded, err)) {
			return ctx.Err()
		}
	}
}

func (c *Client) endpoints() ([]endpoint, error) {
	if len(c.config.Endpoints) == 0 {
		return nil, fmt.Errorf("database %s: no endpoint", c.config.Database)
	}
	endpoints := make([]endpoint, len(c.config.Endpoints))
	for i, text := range c.config.Endpoints {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, fmt.Errorf("database %s: %w", c.config.Database, err)
		}
		if e.tls && c.config.TLS == nil {
			return nil, fmt.Errorf("database %s: endpoint %q without TLS configuration", c.config.Database, text)
		}
		endpoints[i] = e
	}
	return endpoints, nil
}

// pause waits; false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect is one connection from dialing to loss. It tells whether a download was
// completed, and why the connection ended.
func (c *Client) connect(ctx context.Context, e endpoint, deliver func(Change)) (downloaded bool, err error) {
	started := time.Now()
	dialing, cancel := context.WithTimeout(ctx, c.config.Timeout)
	conn, err := e.dial(dialing, c.config.TLS)
	cancel()
	if err != nil {
		return false, err
	}
	s := newSession(newWire(conn), c.config.Timeout, c.config.Probe)
	defer s.close()
	if err := c.download(ctx, s, deliver); err != nil {
		return false, err
	}
	c.connected(e, s, time.Since(started))
	return true, s.follow(ctx)
}

func (c *Client) download(ctx context.Context, s *session, deliver func(Change)) error {
	if err := s.watchServer(ctx, c.config.Database, c.config.LeaderOnly); err != nil {
		return err
	}
	known, err := s.schema(ctx, c.config.Database)
	if err != nil {
		return err
	}
	m, err := newMonitor(c.config.Database, known, c.config.Tables, func(change Change) error {
		deliver(change)
		return nil
	})
	if err != nil {
		return err
	}
	return s.monitor(ctx, 0, m, known)
}

func (c *Client) connected(e endpoint, s *session, took time.Duration) {
	c.repeats.forget()
	c.loads++
	c.log.Info("connected to the database server", "endpoint", e.text, "took", took.Round(time.Millisecond))
	c.set(State{Endpoint: e.text, Connected: true}, s)
}

// lost reports a failed or lost connection and returns how long to wait.
func (c *Client) lost(e endpoint, downloaded bool, err error) time.Duration {
	wait := c.backoff.failed
	report := "cannot connect to the database server"
	if downloaded {
		wait = c.backoff.lost
		report = "lost the connection to the database server"
	}
	d := wait()
	if downloaded || c.repeats.due(e.text+" "+err.Error(), time.Now()) {
		c.log.Warn(report, "endpoint", e.text, "error", err, "retry_in", d.Round(time.Millisecond))
	}
	c.set(State{Endpoint: e.text, Err: err}, nil)
	return d
}

// set makes a state known.
func (c *Client) set(state State, s *session) {
	c.mu.Lock()
	state.Reconnects = max(c.loads-1, 0)
	state.Since = c.state.Since
	if state.Connected != c.state.Connected {
		state.Since = time.Now()
	}
	c.state, c.session = state, s
	c.mu.Unlock()
	if c.config.Changed != nil {
		c.config.Changed(state)
	}
}

// State is the present state. It may be called from any goroutine.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Barrier returns when every update that the server had sent before it answered an
// echo has been handed to deliver. ovsdb-server sends what is committed before it
// answers, so whatever was committed when Barrier was called has been delivered
// then. It fails with [ErrNotConnected] if there is no connection or it is lost
// meanwhile. It may be called from any goroutine but the one that deliver is
// called on.
func (c *Client) Barrier(ctx context.Context) error {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return ErrNotConnected
	}
	passed := make(barrier)
	select {
	case s.barriers <- passed:
	case <-s.ended:
		return ErrNotConnected
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-passed:
		return nil
	case <-s.ended:
		return ErrNotConnected
	case <-ctx.Done():
		return ctx.Err()
	}
}
