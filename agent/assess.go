package agent

import (
	"errors"
	"time"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
)

// assess notes what became of the owners concerned: those that were wired anew and
// those of the steps. It logs what changed and sees to it that failed steps are
// tried again.
func (c *core) assess(keys []node.Key, results []node.Result) {
	owners := c.rewired
	c.rewired = map[node.Owner]struct{}{}
	for _, r := range results {
		for _, owner := range r.Step.Owners {
			owners[owner] = struct{}{}
		}
		if r.Err != nil && !errors.Is(r.Err, node.ErrSkipped) {
			c.problems.set("object "+r.Step.Key.String(), r.Err.Error())
		} else {
			c.problems.clear("object " + r.Step.Key.String())
		}
	}
	for owner := range owners {
		c.assessOwner(owner)
	}
	c.reportConflicts(keys)
	c.scheduleRetry()
}

// assessOwner tells an exposure's state from the objects that it wants.
func (c *core) assessOwner(owner node.Owner) {
	e := c.entries[owner]
	if e == nil || !e.wired {
		return
	}
	err := c.failure(owner)
	held := e.reason.Text != ""
	switch {
	case err != nil:
		c.breakDown(owner, e, err)
	case held:
		c.setState(owner, e, stateRepairing, e.reason.Text)
	default:
		c.mend(owner, e)
		if e.withheld {
			e.withheld = false
			c.rewire[owner] = struct{}{}
			return
		}
		c.setState(owner, e, stateApplied, "")
	}
}

// failure is why an object that the owner wants could not be made.
func (c *core) failure(owner node.Owner) error {
	var skipped error
	for _, key := range c.desired.Wants(owner) {
		f, failed := c.failed[key]
		switch {
		case failed && errors.Is(f.err, node.ErrSkipped):
			skipped = f.err
		case failed:
			return f.err
		}
	}
	return skipped
}

// breakDown handles an exposure whose wiring failed: what is announced stays so
// while it is repaired, for graceTime.
func (c *core) breakDown(owner node.Owner, e *entry, err error) {
	c.markBroken(owner, e)
	if c.expired(e) && !e.withheld {
		e.withheld = true
		c.rewire[owner] = struct{}{}
	}
	c.setState(owner, e, stateFailed, err.Error())
}

// setState records and logs a decision's state when it changes.
func (c *core) setState(owner node.Owner, e *entry, state, why string) {
	if e.state == state && e.why == why {
		return
	}
	if e.state != state {
		e.since = c.now()
	}
	e.state, e.why = state, why
	level := c.log.Info
	if state == stateRefused || state == stateFailed {
		level = c.log.Warn
	}
	level("exposure "+state, "owner", string(owner), "network", e.decision.Network, "reason", why)
}

// setUnwired records the state of a decision that wants nothing of the node.
func (c *core) setUnwired(owner node.Owner, e *entry) {
	state := statePending
	if e.decision.State == exposure.Refused {
		state = stateRefused
	}
	c.setState(owner, e, state, e.reason.Text)
}

// reportConflicts makes a problem of each disagreement between owners.
func (c *core) reportConflicts(keys []node.Key) {
	for _, key := range keys {
		c.problems.clear("conflict " + key.String())
	}
	for _, conflict := range c.desired.Conflicts(keys) {
		c.problems.set("conflict "+conflict.Key.String(), conflict.String())
	}
}

// scheduleRetry plans the next try of failed steps.
func (c *core) scheduleRetry() {
	if len(c.failed) == 0 {
		c.retry, c.retryAt = minRetry, time.Time{}
		return
	}
	if c.retryAt.IsZero() {
		c.retryAt = c.now().Add(c.backOff())
	}
}

// backOff returns the present wait between tries and doubles it.
func (c *core) backOff() time.Duration {
	wait := c.retry
	c.retry = min(2*c.retry, maxRetry)
	return wait
}

// tick does what has become due: failed steps again, and exposures whose grace
// has ended.
func (c *core) tick() {
	now := c.now()
	if !c.retryAt.IsZero() && !now.Before(c.retryAt) {
		c.retryAt = time.Time{}
		for key := range c.failed {
			c.dirty[key] = struct{}{}
		}
	}
	for owner := range c.broken {
		if e := c.entries[owner]; e == nil {
			delete(c.broken, owner)
		} else if c.expired(e) && !e.withheld {
			c.rewire[owner] = struct{}{}
			c.assessOwner(owner)
		}
	}
}

// next is when tick has something to do; zero for never.
func (c *core) next() time.Time {
	due := c.retryAt
	if c.syncCause != "" {
		due = earlier(due, c.syncAfter)
	}
	for owner := range c.broken {
		if e := c.entries[owner]; e != nil && !e.withheld {
			due = earlier(due, e.broken.Add(graceTime))
		}
	}
	return due
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
