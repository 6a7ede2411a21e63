package fabric

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"ovn-bgp-agent/netns/journal/history"
)

// Kind is what an [Event] is.
type Kind int

// The kinds of events.
const (
	Update      Kind = iota + 1 // a route was announced, or announced again
	Withdraw                    // a route is no longer announced
	SessionUp                   // the session is Established
	SessionDown                 // the session left Established
)

// String is the kind in lower case.
func (k Kind) String() string {
	return [...]string{"", "update", "withdraw", "session up", "session down"}[k]
}

// Causes of an Update or Withdraw.
const (
	// CauseUpdate: the peer said so in an UPDATE message (RFC 4271 §4.3).
	CauseUpdate = "update"
	// CauseSessionDown: the session was lost, and with it the peer's routes. Such
	// withdrawals come right before the event of the session itself.
	CauseSessionDown = "session down"
	// CauseStale: the peer had kept its routes through a graceful restart, and did
	// not announce this one again in time (RFC 4724 §4.2).
	CauseStale = "stale"
)

// Event is one thing that a peer did.
type Event struct {
	Seq         int        // position in the timeline, from 0
	Time        time.Time  // when the fabric had processed it
	Source      string     // the node
	Session     netip.Addr // the neighbour's address
	Kind        Kind
	Prefix      netip.Prefix // of Update and Withdraw
	NextHop     netip.Addr   // of Update
	ASPath      []uint32     // of Update; AS_SET members follow in place
	Communities []uint32     // of Update; RFC 1997
	Cause       string       // of Update and Withdraw: one of the Cause constants
}

// Mark is a position in a [Timeline], and the time at which it was taken.
type Mark = history.Mark

// announcer is one session that can announce a prefix.
type announcer struct {
	node    string
	session netip.Addr
}

// Timeline is the append-only record of a fabric, safe for concurrent use.
type Timeline struct {
	log *history.Log[Event]

	mu     sync.Mutex // orders Record with the routes that follow from it
	routes map[netip.Prefix]map[announcer]struct{}
}

// NewTimeline returns an empty timeline.
func NewTimeline() *Timeline {
	return &Timeline{log: history.New[Event](), routes: map[netip.Prefix]map[announcer]struct{}{}}
}

// Record appends an event and gives it its sequence number, and the present time
// if it has none.
func (t *Timeline) Record(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	apply(t.routes, e)
	t.log.Append(func(seq int) Event {
		e.Seq = seq
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		return e
	})
}

// Now is the position after the last event.
func (t *Timeline) Now() Mark { return t.log.Now() }

// Since returns the events after the mark, oldest first. The caller must not
// change them.
func (t *Timeline) Since(mark Mark) []Event { return t.log.Since(mark) }

// WaitFor returns nil once cond holds; it is asked at the start and after new
// events. When ctx ends first its cause is returned.
func (t *Timeline) WaitFor(ctx context.Context, cond func() bool) error {
	return t.log.WaitFor(ctx, cond)
}

// Routes is what is announced now: each prefix with the nodes that announce it,
// sorted.
func (t *Timeline) Routes() map[netip.Prefix][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	routes := make(map[netip.Prefix][]string, len(t.routes))
	for prefix, announcers := range t.routes {
		routes[prefix] = nodesOf(announcers)
	}
	return routes
}

// Announcers are the nodes that announce the prefix now, sorted.
func (t *Timeline) Announcers(prefix netip.Prefix) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return nodesOf(t.routes[prefix])
}

// RoutesOf is what one node announces now, sorted by address and length.
func (t *Timeline) RoutesOf(node string) []netip.Prefix {
	t.mu.Lock()
	defer t.mu.Unlock()
	var prefixes []netip.Prefix
	for prefix, announcers := range t.routes {
		if slices.Contains(nodesOf(announcers), node) {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.SortFunc(prefixes, comparePrefix)
	return prefixes
}

func apply(routes map[netip.Prefix]map[announcer]struct{}, e Event) {
	from := announcer{e.Source, e.Session}
	switch e.Kind {
	case Update:
		if routes[e.Prefix] == nil {
			routes[e.Prefix] = map[announcer]struct{}{}
		}
		routes[e.Prefix][from] = struct{}{}
	case Withdraw:
		delete(routes[e.Prefix], from)
		if len(routes[e.Prefix]) == 0 {
			delete(routes, e.Prefix)
		}
	}
}

func nodesOf(announcers map[announcer]struct{}) []string {
	var nodes []string
	for a := range announcers {
		nodes = append(nodes, a.node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
