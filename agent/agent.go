// Package agent is the daemon: it keeps what this node announces over BGP in line
// with what OVN's databases say.
//
// Data flows one way: rows (ovsdb) → decisions (exposure) → objects (wiring) →
// steps (node.Diff) → the node (kernel, openflow). One goroutine owns all state;
// connections, timers and requests hand it work and never touch it. FRR's own
// configuration is kept by a second goroutine, since it depends on nothing but
// options and FRR.
package agent

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/frr"
	"ovn-bgp-agent/agent/kernel"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/wiring"
)

// Settings are the options that the agent's behaviour depends on.
type Settings struct {
	Names             wiring.Names
	AS                uint32
	RouterID          netip.Addr // zero: FRR's own
	ReconcileInterval time.Duration
	FRRInterval       time.Duration
	MassWithdrawGuard bool
	DryRun            bool
	Driver            string // for status
	Method            string // for status
	Version           string // for status
	OVSEndpoints      []string
	OVNEndpoints      []string // of the driver's database; empty: as Open_vSwitch says
	TLS               func() (*tls.Config, error)
	ConnectTimeout    time.Duration
	Hostname          string // this machine's
}

// Kernel reads and changes the node's kernel state.
type Kernel interface {
	Read(ctx context.Context, s kernel.Scope) (node.State, node.Facts, error)
	Apply(ctx context.Context, s node.Step) error
	WatchLinks(ctx context.Context, changed func(name string, link node.Link, present bool), overflow func()) error
	Writes() map[node.Kind]uint64
}

// Switch reads and changes the agent's flows.
type Switch interface {
	Read(ctx context.Context, bridges []string) (node.State, map[string]error)
	Apply(ctx context.Context, s node.Step) error
	Writes() uint64
}

// FRR reads and changes FRR's running configuration.
type FRR interface {
	Ensure(ctx context.Context, w frr.Want) (frr.Outcome, error)
	Watch(ctx context.Context, up func(), down func(error))
	Writes() uint64
}

// Parts are what the agent is made of: its pure functions, as values, and the
// adapters to the node.
type Parts struct {
	Driver   exposure.Driver
	Plan     func(wiring.Names, node.Facts, exposure.Base) (node.Layout, []wiring.Problem)
	Base     func(node.Layout, exposure.Base) []node.Want
	Provider func(node.Layout, exposure.Decision) ([]node.Want, *exposure.Reason)
	Kernel   Kernel
	Switch   Switch
	FRR      FRR
	StepHook func(node.Step) error // called before each step; an error takes the step's place
	Ready    func()                // called after the first sync
}

// Underlay fills in the pure functions of the exposing method "underlay".
func (p Parts) Underlay() Parts {
	p.Plan, p.Base, p.Provider = wiring.Plan, wiring.Base, wiring.Provider
	return p
}

// Agent is the daemon.
type Agent struct {
	settings Settings
	parts    Parts
	log      *slog.Logger
	inbox    *inbox
	links    *connections
	frr      *leakKeeper
	started  time.Time
}

// New returns an agent that is not running yet.
func New(s Settings, p Parts, log *slog.Logger) *Agent {
	a := &Agent{settings: s, parts: p, log: log, inbox: newInbox(), started: time.Now()}
	a.links = newConnections(a)
	a.frr = newLeakKeeper(s, p.FRR, log)
	return a
}

// LostBridge tells the agent that the flows of a bridge may be gone.
func (a *Agent) LostBridge(bridge string) {
	a.inbox.post(func(c *core) { c.lostFlows(bridge) })
}

// Run works until the context ends. Stopping withdraws nothing.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c := newCore(a.settings, a.parts, a.log)
	c.identified = func(id exposure.Identity) { a.links.identify(ctx, id) }
	var tasks sync.WaitGroup
	defer func() {
		cancel()
		tasks.Wait()
		a.links.wait()
	}()
	tasks.Go(func() { a.links.open(ctx) })
	tasks.Go(func() { a.frr.run(ctx, a.inbox) })
	tasks.Go(func() { a.watchLinks(ctx) })
	return a.loop(ctx, c)
}

// loop is the goroutine that owns the core.
func (a *Agent) loop(ctx context.Context, c *core) error {
	reconcile := time.NewTicker(a.settings.ReconcileInterval)
	defer reconcile.Stop()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	ready := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.inbox.signal:
		case <-reconcile.C:
			c.requestSync("reconcile_interval")
		case <-due.C:
			c.tick()
		}
		for _, work := range a.inbox.take() {
			work(c)
		}
		c.work(ctx)
		c.answer()
		if !ready && c.syncs.count > 0 {
			ready = true
			a.parts.Ready()
		}
		due.Stop()
		if next := c.next(); !next.IsZero() {
			due.Reset(max(0, next.Sub(c.now())))
		}
	}
}

// watchLinks tells the core of devices that change without it.
func (a *Agent) watchLinks(ctx context.Context) {
	changed := func(name string, link node.Link, present bool) {
		a.inbox.post(func(c *core) { c.linkChanged(name, link, present) })
	}
	overflow := func() { a.inbox.post(func(c *core) { c.requestSync("link notifications overflowed") }) }
	if err := a.parts.Kernel.WatchLinks(ctx, changed, overflow); err != nil && ctx.Err() == nil {
		a.log.Error("devices are no longer watched; the periodic sync remains", "error", err)
	}
}
