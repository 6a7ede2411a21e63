package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/status"
)

// syncRecord is the last full sync, and how many there have been.
type syncRecord struct {
	count    int
	cause    string
	at       time.Time
	duration time.Duration
	steps    map[string]int // by kind of object
	failed   int
}

func (r *syncRecord) done(cause string, at time.Time, d time.Duration, results []node.Result) {
	*r = syncRecord{count: r.count + 1, cause: cause, at: at, duration: d, steps: map[string]int{}}
	for _, result := range results {
		r.steps[result.Step.Key.Kind().String()]++
		if result.Err != nil {
			r.failed++
		}
	}
}

// answer lets go those who wait for everything posted so far to have been applied.
func (c *core) answer() {
	if !c.ready() || c.syncs.count == 0 || c.syncCause != "" {
		return
	}
	for _, waiter := range c.waiters {
		close(waiter)
	}
	c.waiters = nil
}

// Settled returns when every row change that the databases had made before the
// call has been applied to the node, or has been found impossible to apply.
func (a *Agent) Settled(ctx context.Context) error {
	if err := a.links.barrier(ctx); err != nil {
		return fmt.Errorf("not settled: %w", err)
	}
	return a.applied(ctx, func(*core) {})
}

// applied has work done by the core and waits until its consequences are applied.
func (a *Agent) applied(ctx context.Context, work func(*core)) error {
	done := make(chan struct{})
	a.inbox.post(func(c *core) {
		work(c)
		c.waiters = append(c.waiters, done)
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("not applied in time: %w", ctx.Err())
	}
}

// Sync runs a full sync and has FRR's configuration ensured; it tells what that
// wrote.
func (a *Agent) Sync(ctx context.Context) (status.SyncResult, error) {
	before := a.writes()
	if err := a.Settled(ctx); err != nil {
		return status.SyncResult{}, err
	}
	errSync := a.applied(ctx, func(c *core) { c.requestSync("requested") })
	errFRR := a.frr.request(ctx)
	result := status.SyncResult{Writes: map[string]uint64{}}
	for kind, n := range a.writes() {
		if n -= before[kind]; n > 0 {
			result.Writes[kind] = n
		}
	}
	return result, errors.Join(errSync, errFRR)
}

// writes counts what was written to the node so far, by kind.
func (a *Agent) writes() map[string]uint64 {
	writes := map[string]uint64{"flow": a.parts.Switch.Writes(), "frr": a.parts.FRR.Writes()}
	for kind, n := range a.parts.Kernel.Writes() {
		writes[kind.String()] += n
	}
	return writes
}

// Confirm lets a held mass withdrawal go.
func (a *Agent) Confirm(ctx context.Context) error {
	return a.applied(ctx, func(c *core) {
		if c.guard.release() {
			c.requestSync("mass withdrawal confirmed")
		}
	})
}

// Report describes the agent.
func (a *Agent) Report(ctx context.Context) (status.Report, error) {
	report := make(chan status.Report, 1)
	a.inbox.post(func(c *core) { report <- c.report() })
	select {
	case r := <-report:
		r.Started, r.Connections, r.FRR = a.started, a.links.report(), a.frr.report()
		return r, nil
	case <-ctx.Done():
		return status.Report{}, fmt.Errorf("the agent does not answer: %w", ctx.Err())
	}
}

// report is the core's part of a report.
func (c *core) report() status.Report {
	var id exposure.Identity
	if c.identity != nil {
		id = *c.identity
	}
	if id.Hostname == "" {
		id.Hostname = c.settings.Hostname
	}
	r := status.Report{
		Version: c.settings.Version, Driver: c.settings.Driver, Method: c.settings.Method,
		Node:     status.Node{Hostname: id.Hostname, SystemID: id.SystemID},
		Sync:     status.Sync{Last: c.syncs.at, Duration: c.syncs.duration, Cause: c.syncs.cause, Count: c.syncs.count, Steps: c.syncs.steps},
		Problems: c.problems.list(),
		Guard:    status.Guard{Held: len(c.guard.held) > 0, Withdrawals: c.guard.list()},
		DryRun:   c.settings.DryRun,
	}
	for _, owner := range slices.Sorted(maps.Keys(c.entries)) {
		r.Exposures = append(r.Exposures, c.entries[owner].report())
	}
	if c.settings.DryRun {
		for _, s := range node.Diff(c.actual, &c.desired, node.AllKeys(c.actual, &c.desired), c.owns()) {
			r.Plan = append(r.Plan, s.Op.String()+" "+s.Key.String())
		}
	}
	return r
}

func (e *entry) report() status.Exposure {
	x := status.Exposure{
		Kind: e.decision.Kind, Port: e.decision.Port, Network: e.decision.Network,
		State: e.state, Reason: e.why, Since: e.since,
	}
	if p := e.decision.Prefix(); p.IsValid() {
		x.Prefix = p.String()
	}
	return x
}

// reportGuard says when a mass withdrawal is held, and when no longer.
func (c *core) reportGuard() {
	if !c.guard.changed {
		return
	}
	c.guard.changed = false
	if held := c.guard.list(); len(held) > 0 {
		c.problems.set("mass withdrawal", fmt.Sprintf("%d of the announced prefixes are no longer in the database: held back until confirmed (ovn-bgp-agent confirm) or until their rows are back; mass_withdraw_guard = off disables this", len(held)))
		return
	}
	c.problems.clear("mass withdrawal")
	c.requestSync("mass withdrawal no longer held")
}
