package agent

import (
	"net/netip"
	"slices"

	"ovn-bgp-agent/agent/node"
)

// guardMinimum is how many withdrawals at least make a mass withdrawal.
const guardMinimum = 10

// guard holds back a mass withdrawal: a sync at start or after a reconnect that
// would withdraw more than half of what is announced, and at least guardMinimum
// prefixes, as when a database came back empty. It holds until it is confirmed or
// the rows are back.
type guard struct {
	enabled bool
	armed   bool
	held    map[netip.Prefix]struct{}
	changed bool // held began or ended since the last report
}

// arm makes the next sync subject to the guard.
func (g *guard) arm() { g.armed = g.enabled }

func (g *guard) disarm() { g.armed = false }

// release lets the held withdrawals go; it tells whether there were any.
func (g *guard) release() bool {
	held := len(g.held) > 0
	g.held, g.armed, g.changed = nil, false, held
	return held
}

// filter takes out of the steps what is held back.
func (g *guard) filter(steps []node.Step, actual node.State, desired *node.Desired) []node.Step {
	if g.armed {
		g.judge(steps, actual)
	}
	if len(g.held) == 0 {
		return steps
	}
	g.dropWanted(desired)
	kept := make([]node.Step, 0, len(steps))
	for _, s := range steps {
		if s.Op == node.Make || !g.holds(s.Key.Subject()) {
			kept = append(kept, s)
		}
	}
	return kept
}

// judge begins to hold when the steps are a mass withdrawal.
func (g *guard) judge(steps []node.Step, actual node.State) {
	withdrawn := map[netip.Prefix]struct{}{}
	for _, s := range steps {
		if s.Op == node.Remove && s.Key.Kind() == node.KindAnnouncement {
			withdrawn[s.Key.Subject()] = struct{}{}
		}
	}
	announced := 0
	for key := range actual {
		if key.Kind() == node.KindAnnouncement {
			announced++
		}
	}
	mass := len(withdrawn) >= guardMinimum && 2*len(withdrawn) > announced
	if mass != (len(g.held) > 0) {
		g.changed = true
	}
	g.held = nil
	if mass {
		g.held = withdrawn
	}
}

// holds: what serves a held prefix stays; so does what serves no single prefix,
// since held ones may need it.
func (g *guard) holds(subject netip.Prefix) bool {
	_, held := g.held[subject]
	return held || !subject.IsValid()
}

// dropWanted stops holding what is wanted again.
func (g *guard) dropWanted(desired *node.Desired) {
	for prefix := range g.held {
		if _, wanted := desired.Value(node.Announcement{Prefix: prefix}); wanted {
			delete(g.held, prefix)
		}
	}
	g.changed = g.changed || len(g.held) == 0
}

// list names the held prefixes in order.
func (g *guard) list() []string {
	var list []string
	for prefix := range g.held {
		list = append(list, prefix.String())
	}
	slices.Sort(list)
	return list
}
