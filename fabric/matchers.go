package fabric

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// The matchers are for gomega; the actual value is a *Timeline or a *Fabric.
// Positive claims may wait for a deadline; they return as soon as they hold:
//
//	Expect(tl).To(fabric.Announced(vm).By("cmp1").Since(mark).Within(time.Second))
//	Expect(tl).To(fabric.Announced(vm).OnlyBy("cmp2").Within(time.Second))
//	Expect(tl).To(fabric.Withdrawn(vm).By("cmp1").Since(mark).Within(time.Second))
//
// Negative claims look at the record as it is; make them behind a fence, or give
// them a time to watch with For:
//
//	Expect(tl).To(fabric.NeverWithdrawn(vm).Since(mark))
//	Expect(tl).To(fabric.NeverAnnounced(vm).By("cmp2").Since(mark).For(time.Second))
//	Expect(tl).To(fabric.Untouched(others...).Since(mark))

// Claim is a gomega matcher that says that something happened, or is so. Its
// methods return a changed copy.
type Claim struct {
	prefix  netip.Prefix
	kind    Kind // Update or Withdraw
	nodes   []string
	only    bool
	since   *Mark
	within  time.Duration
	explain string // of the last Match
}

// Announced claims that a node announces the prefix; with [Claim.Since], that an
// UPDATE after the mark says so.
func Announced(prefix netip.Prefix) *Claim { return &Claim{prefix: prefix, kind: Update} }

// Withdrawn claims that the prefix was withdrawn and is not announced; by any node
// unless [Claim.By] names some.
func Withdrawn(prefix netip.Prefix) *Claim { return &Claim{prefix: prefix, kind: Withdraw} }

// By limits the claim to the nodes; it must hold for each.
func (c Claim) By(nodes ...string) *Claim {
	c.nodes = nodes
	return &c
}

// OnlyBy is [Claim.By], and claims that no other node announces the prefix.
func (c Claim) OnlyBy(nodes ...string) *Claim {
	c.nodes, c.only = nodes, true
	return &c
}

// Since limits the claim to what happened after the mark.
func (c Claim) Since(mark Mark) *Claim {
	c.since = &mark
	return &c
}

// Within waits for the claim to come true. The deadline is d after the mark of
// [Claim.Since], or after the call without one; an event after it does not count.
func (c Claim) Within(d time.Duration) *Claim {
	c.within = d
	return &c
}

// Match implements gomega's matcher.
func (c *Claim) Match(actual any) (bool, error) {
	t, err := timelineOf(actual)
	if err != nil {
		return false, err
	}
	start := t.Now()
	if c.since != nil {
		start = *c.since
	}
	deadline := start.Time.Add(c.within)
	holds := func() bool { return c.holds(t, deadline) }
	ok := waitUntil(t, deadline, holds)
	c.explain = c.excerpt(t, start)
	return ok, nil
}

// holds tells whether the claim is true now by events up to the deadline, which
// counts only when the claim has a time limit.
func (c *Claim) holds(t *Timeline, deadline time.Time) bool {
	now := t.Announcers(c.prefix)
	if c.only && c.kind == Update && !slices.Equal(now, slices.Compact(slices.Sorted(slices.Values(c.nodes)))) {
		return false
	}
	if len(c.nodes) == 0 {
		return c.holdsFor(t, deadline, func(string) bool { return true }, len(now) > 0)
	}
	for _, node := range c.nodes {
		isNode := func(source string) bool { return source == node }
		if !c.holdsFor(t, deadline, isNode, slices.Contains(now, node)) {
			return false
		}
	}
	return true
}

func (c *Claim) holdsFor(t *Timeline, deadline time.Time, concerns func(node string) bool, announced bool) bool {
	if c.kind == Withdraw && announced {
		return false
	}
	if c.kind == Update && c.since == nil {
		return announced
	}
	var since Mark
	if c.since != nil {
		since = *c.since
	}
	for _, e := range t.Since(since) {
		late := c.within > 0 && e.Time.After(deadline)
		if e.Kind == c.kind && e.Prefix == c.prefix && concerns(e.Source) && !late {
			return true
		}
	}
	return false
}

func (c *Claim) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s to be %s", c.prefix, map[Kind]string{Update: "announced", Withdraw: "withdrawn"}[c.kind])
	if len(c.nodes) > 0 {
		fmt.Fprintf(&out, " by %s", strings.Join(c.nodes, ", "))
	}
	if c.only {
		out.WriteString(" and no other node")
	}
	if c.within > 0 {
		fmt.Fprintf(&out, " within %s", c.within)
	}
	return out.String()
}

// FailureMessage implements gomega's matcher.
func (c *Claim) FailureMessage(any) string { return "Expected " + c.String() + "\n" + c.explain }

// NegatedFailureMessage implements gomega's matcher.
func (c *Claim) NegatedFailureMessage(any) string {
	return "Did not expect " + c.String() + "\n" + c.explain
}

func (c *Claim) excerpt(t *Timeline, start Mark) string {
	if c.since == nil {
		start = Mark{}
	}
	return explain(t, start, c.prefix)
}

// explain is the part of a failure message that shows what the fabric saw.
func explain(t *Timeline, since Mark, prefixes ...netip.Prefix) string {
	var out strings.Builder
	for _, prefix := range prefixes {
		fmt.Fprintf(&out, "%s is announced now by: %s\n", prefix, strings.Join(t.Announcers(prefix), ", "))
	}
	out.WriteString("Events since the mark, in seconds from it:\n")
	out.WriteString(t.Excerpt(since, prefixes...))
	return out.String()
}

// waitUntil waits for cond to hold; at the deadline it is asked once more, so that
// a deadline in the past asks exactly once.
func waitUntil(t *Timeline, deadline time.Time, cond func() bool) bool {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	return t.WaitFor(ctx, cond) == nil || cond()
}

func timelineOf(actual any) (*Timeline, error) {
	switch a := actual.(type) {
	case *Timeline:
		return a, nil
	case *Fabric:
		return a.Timeline(), nil
	default:
		return nil, fmt.Errorf("the actual value is a %T, not a *fabric.Timeline or *fabric.Fabric", actual)
	}
}
