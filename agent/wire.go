package agent

import (
	"context"
	"time"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
)

// The states of an exposure in status (design: states are applied at once).
const (
	stateApplied   = "applied"
	statePending   = "pending"
	stateRefused   = "refused"
	stateFailed    = "failed"
	stateRepairing = "repairing"
	statePlanned   = "planned" // dry run
)

// wireDirty turns the decisions that changed, or whose wiring may, into wants.
func (c *core) wireDirty() {
	for owner := range c.rewire {
		e := c.entries[owner]
		if e == nil {
			c.want(owner, nil)
			continue
		}
		c.wire(owner, e)
		c.rewired[owner] = struct{}{}
	}
	c.rewire = map[node.Owner]struct{}{}
}

// wire sets what one decision wants of the node. What is wired stays wired for
// [graceTime] while only a prerequisite of its wiring is missing.
func (c *core) wire(owner node.Owner, e *entry) {
	wants, reason := c.wants(e.decision)
	switch {
	case wants != nil:
		e.reason = exposure.Reason{}
		c.setWants(owner, e, wants)
	case e.wired && holds(reason.Code) && !c.expired(e):
		e.reason = reason
		c.markBroken(owner, e)
		c.assessOwner(owner)
	default:
		c.mend(owner, e)
		e.reason, e.withheld, e.wired = reason, false, false
		c.want(owner, nil)
		c.setUnwired(owner, e)
	}
}

// wants are the objects of a decision; nil with the reason if there are none.
func (c *core) wants(d exposure.Decision) ([]node.Want, exposure.Reason) {
	if d.State != exposure.Exposed {
		return nil, d.Reason
	}
	wants, reason := c.parts.Provider(c.layout, d)
	if reason != nil {
		return nil, *reason
	}
	return wants, exposure.Reason{}
}

// setWants wires an entry; one whose repair failed for too long keeps its wiring
// but not its announcement.
func (c *core) setWants(owner node.Owner, e *entry, wants []node.Want) {
	e.wired = true
	if e.withheld {
		kept := wants[:0]
		for _, w := range wants {
			if w.Key.Kind() != node.KindAnnouncement {
				kept = append(kept, w)
			}
		}
		wants = kept
	}
	c.want(owner, wants)
	if c.settings.DryRun {
		c.setState(owner, e, statePlanned, "")
	}
}

// holds: the reason is a broken prerequisite of the wiring, not a decision that
// the address belongs elsewhere.
func holds(code exposure.Code) bool {
	return code == exposure.NoPatchPort || code == exposure.NoBridge
}

// markBroken notes since when something that a wired entry needs is broken.
func (c *core) markBroken(owner node.Owner, e *entry) {
	if e.broken.IsZero() {
		e.broken = c.now()
	}
	c.broken[owner] = struct{}{}
}

func (c *core) mend(owner node.Owner, e *entry) {
	e.broken = time.Time{}
	delete(c.broken, owner)
}

func (c *core) expired(e *entry) bool {
	return !e.broken.IsZero() && c.now().Sub(e.broken) >= graceTime
}

// reconcile compares some objects and applies the difference. It returns the
// results of the steps.
func (c *core) reconcile(ctx context.Context, keys []node.Key) []node.Result {
	steps := c.guard.filter(node.Diff(c.actual, &c.desired, keys, c.owns()), c.actual, &c.desired)
	c.reportGuard()
	if c.settings.DryRun {
		c.rewired = map[node.Owner]struct{}{}
		return nil
	}
	results := node.Execute(steps, func(s node.Step) error { return c.apply(ctx, s) })
	for _, r := range results {
		c.learn(r)
	}
	c.noteWanted(keys)
	c.assess(keys, results)
	return results
}

// owns: what this process has made is the agent's own; of the rest, what is
// recognised as such.
func (c *core) owns() func(node.Key, node.Value) bool {
	recognised := c.layout.Recognise(c.actual)
	return func(key node.Key, value node.Value) bool {
		if _, made := c.known[key]; made {
			return true
		}
		return recognised(key, value)
	}
}

// remember marks an object as the agent's own. What always stays is never marked,
// nor is a device that was there before (package node, "How an object is known").
func (c *core) remember(key node.Key, created bool) {
	switch key.Kind() {
	case node.KindRTTable, node.KindLinkUp, node.KindSysctl:
		return
	case node.KindDevice:
		if !created {
			return
		}
	}
	c.known[key] = struct{}{}
}

func (c *core) apply(ctx context.Context, s node.Step) error {
	if c.parts.StepHook != nil {
		if err := c.parts.StepHook(s); err != nil {
			return err
		}
	}
	if s.Key.Kind() == node.KindFlow {
		return c.parts.Switch.Apply(ctx, s)
	}
	return c.parts.Kernel.Apply(ctx, s)
}

// learn updates what is believed of the node, and of failures, by a result.
func (c *core) learn(r node.Result) {
	key := r.Step.Key
	if r.Err != nil {
		c.failed[key] = failure{r.Step, r.Err}
		return
	}
	delete(c.failed, key)
	c.log.Debug("applied", "step", r.Step.Op.String(), "object", key.String())
	if r.Step.Op == node.Remove {
		delete(c.actual, key)
		delete(c.known, key)
	} else {
		c.actual[key] = r.Step.Value
		c.remember(key, r.Step.Old == nil)
	}
	switch k := key.(type) {
	case node.Device:
		c.devices[k.Name] = c.now()
	case node.LinkUp:
		c.devices[k.Dev] = c.now()
	}
	if device, ok := key.(node.Device); ok && (r.Step.Op == node.Remove || r.Step.Old == nil) {
		c.forgetDevice(device.Name)
	}
}

// forgetDevice drops what is believed of a device that is new or gone: the kernel
// keeps nothing of the old one.
func (c *core) forgetDevice(dev string) {
	for key, value := range c.actual {
		if onDevice(key, value, dev) {
			delete(c.actual, key)
			if _, wanted := c.desired.Value(key); wanted {
				c.dirty[key] = struct{}{}
			}
		}
	}
}

func onDevice(key node.Key, value node.Value, dev string) bool {
	switch k := key.(type) {
	case node.Address:
		return k.Dev == dev
	case node.Neighbour:
		return k.Dev == dev
	case node.Proxy:
		return k.Dev == dev
	case node.Route:
		return value.(node.RouteSpec).Dev == dev
	case node.Sysctl:
		return k == node.SysctlKey("ipv4", dev, "proxy_arp") || k == node.SysctlKey("ipv6", dev, "proxy_ndp")
	}
	return false
}

// noteWanted remembers objects that were found as wanted, and forgets failures
// that no longer matter.
func (c *core) noteWanted(keys []node.Key) {
	for _, key := range keys {
		value, wanted := c.desired.Value(key)
		actual, exists := c.actual[key]
		switch {
		case wanted && exists && actual == value:
			c.remember(key, false)
			c.forgive(key)
		case !wanted && !exists:
			c.forgive(key)
		}
	}
}

// forgive forgets that a step of an object failed.
func (c *core) forgive(key node.Key) {
	if _, failed := c.failed[key]; failed {
		delete(c.failed, key)
		c.problems.clear("object " + key.String())
	}
}
