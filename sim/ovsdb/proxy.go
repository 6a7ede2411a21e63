package ovsdb

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy stands between clients and a server and makes connection faults. It
// knows nothing of the protocol. All its methods may be called at any time.
type Proxy struct {
	backend string

	mu       sync.Mutex
	endpoint string
	listener net.Listener // nil while refusing
	links    map[*link]struct{}
	thawed   chan struct{} // closed unless frozen
	delay    time.Duration
	budget   int64 // bytes to clients until the cut, -1: no cut
	running  sync.WaitGroup
	closed   bool
}

// NewProxy starts a proxy. listen and backend are "unix:PATH" or
// "tcp:HOST:PORT"; with port 0 a free one is taken, see Endpoint.
func NewProxy(listen, backend string) (*Proxy, error) {
	if _, _, err := splitEndpoint(backend); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{backend: backend, endpoint: listen, links: map[*link]struct{}{}, thawed: make(chan struct{}), budget: -1}
	close(p.thawed)
	if err := p.Accept(); err != nil {
		return nil, err
	}
	return p, nil
}

// Endpoint is where clients connect.
func (p *Proxy) Endpoint() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endpoint
}

// Connections is the number of connections being carried.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Cut drops all connections, with a reset where the transport has one. New
// ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// CutAfter drops the connection that carries the n-th byte from the server to
// a client from now on, after that byte: half a download. It happens once.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = n
}

// Freeze holds all bytes in both directions. Connections stay open, and new
// ones are accepted and frozen too.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
		p.thawed = make(chan struct{})
	default:
	}
}

// Thaw lets the held bytes go on.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

// Delay makes every byte arrive d later, in each direction. It does not limit
// the throughput.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse makes new connections fail (ECONNREFUSED, or ENOENT for a unix
// socket). Existing ones stay: Cut them too for a server that is down.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	l := p.listener
	p.listener = nil
	p.mu.Unlock()
	if l == nil {
		return nil
	}
	if err := l.Close(); err != nil {
		return fmt.Errorf("proxy: refuse: %w", err)
	}
	return nil
}

// Accept ends Refuse.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("proxy: closed")
	}
	if p.listener != nil {
		return nil
	}
	l, endpoint, err := listenOn(p.endpoint)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	p.listener, p.endpoint = l, endpoint
	p.running.Go(func() { p.serve(l) })
	return nil
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	err := p.Refuse()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.carry(client) })
	}
}

// carry moves bytes between a client and the backend until one side ends.
func (p *Proxy) carry(client net.Conn) {
	l := &link{proxy: p, client: client, done: make(chan struct{})}
	network, address, err := splitEndpoint(p.backend)
	if err == nil {
		l.server, err = net.Dial(network, address)
	}
	if err != nil || !p.add(l) {
		l.cut()
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(l.server, l.client, false) })
	pumps.Go(func() { l.pump(l.client, l.server, true) })
	pumps.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// spend takes n bytes from the budget of CutAfter and returns how many may
// pass; cut tells to drop the connection after them.
func (p *Proxy) spend(n int) (pass int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget < 0 {
		return n, false
	}
	if int64(n) < p.budget {
		p.budget -= int64(n)
		return n, false
	}
	pass = int(p.budget)
	p.budget = -1
	return pass, true
}

func (p *Proxy) gate() (thawed <-chan struct{}, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.thawed, p.delay
}
