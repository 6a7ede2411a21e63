package fabric

import (
	"net/netip"
	"time"
)

// Overlap is for how long after the mark two or more nodes announced the prefix
// at once, up to now.
func (t *Timeline) Overlap(since Mark, prefix netip.Prefix) time.Duration {
	return t.duration(since, prefix, func(nodes int, _ bool) bool { return nodes > 1 })
}

// Gap is for how long after the mark no node announced the prefix, up to now; the
// time before its first announcement is not counted.
func (t *Timeline) Gap(since Mark, prefix netip.Prefix) time.Duration {
	return t.duration(since, prefix, func(nodes int, seen bool) bool { return seen && nodes == 0 })
}

// duration adds up the time after the mark during which counts holds, given the
// number of announcing nodes and whether there ever was one.
func (t *Timeline) duration(since Mark, prefix netip.Prefix, counts func(nodes int, seen bool) bool) time.Duration {
	var (
		total  time.Duration
		from   = since.Time
		seen   bool
		routes = map[netip.Prefix]map[announcer]struct{}{}
	)
	advance := func(to time.Time) {
		if counts(len(nodesOf(routes[prefix])), seen) {
			total += to.Sub(from)
		}
		from = to
	}
	for _, e := range t.Since(Mark{}) {
		if e.Prefix != prefix {
			continue
		}
		if e.Seq >= since.Seq {
			advance(e.Time)
		}
		apply(routes, e)
		seen = seen || e.Kind == Update
	}
	advance(time.Now())
	return total
}
