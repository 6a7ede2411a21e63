package lab

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/netns/journal"
)

// Effects are what a step is about; of everything else the fabric must hear nothing.
type Effects struct {
	Prefixes []netip.Prefix // may be announced or withdrawn
	Pending  []netip.Prefix // not announced although the cloud would have it so
	Down     bool           // sessions or agents are away: the oracle is not asked
}

// Touches is a step about some prefixes.
func Touches(prefixes ...netip.Prefix) Effects { return Effects{Prefixes: prefixes} }

// Nothing is a step that the fabric must not notice.
func Nothing() Effects { return Effects{} }

// Step plays one step of a scenario. Afterwards, behind a fence, it holds the lab
// to what must be true at every step (scenarios.md §2): I1, I2 the order of the
// wiring, I3 one announcer for a prefix, I4 nothing else was touched; and the
// fabric has exactly what the cloud's user would expect.
func (l *Lab) Step(ctx context.Context, text string, effects Effects, play func(since fabric.Mark)) {
	ginkgo.GinkgoHelper()
	ginkgo.By(text)
	mark := l.Timeline.Now()
	play(mark)
	if !effects.Down {
		l.fence(ctx)
		l.expectOracle(ctx, effects.Pending)
	}
	l.checkUntouched(mark, effects.Prefixes)
	l.checkAnnouncers()
	l.checkOrder()
}

// StepBroken is a step after which the node is deliberately not as it should be:
// only what else is touched, and by whom, is checked.
func (l *Lab) StepBroken(ctx context.Context, text string, effects Effects, play func(since fabric.Mark)) {
	ginkgo.GinkgoHelper()
	ginkgo.By(text)
	mark := l.Timeline.Now()
	play(mark)
	l.checkUntouched(mark, effects.Prefixes)
	l.forgetOrder()
}

// forgetOrder: what was done by hand is not the agent's doing.
func (l *Lab) forgetOrder() {
	for _, host := range l.Hosts {
		_ = l.nodes[host].watch.violations()
	}
}

// fence waits until every running agent has applied what is in the databases.
func (l *Lab) fence(ctx context.Context) {
	ginkgo.GinkgoHelper()
	for _, host := range l.Hosts {
		if n := l.nodes[host]; n.agent != nil && n.agent.Err() == nil {
			n.Settled(ctx)
		}
	}
}

// Expected is what a host must announce, by what the user of the cloud did.
func (l *Lab) Expected(host string, pending []netip.Prefix) []netip.Prefix {
	var expected []netip.Prefix
	for _, p := range l.Cloud.Expected(host) {
		if !slices.Contains(pending, p) && !isSentinel(p) {
			expected = append(expected, p)
		}
	}
	slices.SortFunc(expected, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return expected
}

func (l *Lab) expectOracle(ctx context.Context, pending []netip.Prefix) {
	ginkgo.GinkgoHelper()
	limited, cancel := context.WithTimeout(ctx, Start)
	defer cancel()
	for _, host := range l.Hosts {
		expected := l.Expected(host, pending)
		err := l.Timeline.WaitFor(limited, func() bool { return slices.Equal(l.Timeline.RoutesOf(host), expected) })
		gomega.Expect(err).NotTo(gomega.HaveOccurred(),
			"%s must announce exactly %v and announces %v", host, expected, l.Timeline.RoutesOf(host))
	}
}

func (l *Lab) checkUntouched(since fabric.Mark, touched []netip.Prefix) {
	ginkgo.GinkgoHelper()
	for _, e := range l.Timeline.Since(since) {
		if e.Prefix.IsValid() && !isSentinel(e.Prefix) && !slices.Contains(touched, e.Prefix) {
			ginkgo.Fail(fmt.Sprintf("I4: the fabric heard of %s, which the step is not about\n%s", e.Prefix, l.Timeline.Excerpt(since, e.Prefix)))
		}
	}
}

func (l *Lab) checkAnnouncers() {
	ginkgo.GinkgoHelper()
	for prefix, nodes := range l.Timeline.Routes() {
		gomega.Expect(len(nodes)).To(gomega.BeNumerically("<=", 1), "I3: %s is announced by %v", prefix, nodes)
	}
}

func (l *Lab) checkOrder() {
	ginkgo.GinkgoHelper()
	for _, host := range l.Hosts {
		gomega.Expect(l.nodes[host].watch.violations()).To(gomega.BeEmpty(), "I1, I2: the order on the node")
	}
}

// Finish ends a scenario: a sync that has nothing to do writes nothing (I5), a
// restart of the agent changes nothing at the fabric (I7), and when everything of
// the cloud is gone the nodes are as they were before it (I6).
func (l *Lab) Finish(ctx context.Context) {
	ginkgo.GinkgoHelper()
	l.Step(ctx, "I5: a sync now writes nothing", Nothing(), func(fabric.Mark) {
		for _, host := range l.Hosts {
			n := l.nodes[host]
			before := n.Journal.Now()
			gomega.Expect(n.Sync(ctx)).To(gomega.BeEmpty(), "writes by a sync of "+host+" that has nothing to do")
			gomega.Expect(n.Journal.Writes(before, journal.Configured())).To(gomega.BeEmpty(), "changes of the kernel of "+host+" by that sync")
		}
	})
	l.Step(ctx, "I7: the agents stop and start again", Nothing(), func(fabric.Mark) {
		for _, host := range l.Hosts {
			l.nodes[host].StopAgent()
			l.nodes[host].StartAgent(ctx)
		}
	})
	l.Step(ctx, "I6: everything is undone", Touches(l.announced()...), func(fabric.Mark) {
		gomega.Expect(l.Cloud.Clear(ctx)).To(gomega.Succeed())
	})
	if !l.Ours {
		l.removeSentinels(ctx)
	}
	for _, host := range l.Hosts {
		n := l.nodes[host]
		if n.base == nil {
			n.ExpectEmptyNode(ctx)
			continue
		}
		n.ExpectState(ctx, n.base, "I6: nothing is left of the scenario")
	}
}

func (l *Lab) announced() []netip.Prefix {
	var prefixes []netip.Prefix
	for prefix := range l.Timeline.Routes() {
		prefixes = append(prefixes, prefix)
	}
	return prefixes
}
