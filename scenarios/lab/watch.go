package lab

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ovn-bgp-agent/netns/journal"
)

// watch holds a node to the two orders that every change must keep
// (scenarios.md §2, I1 and I2): an address is in the VRF only while its rule, its
// route and, with the Northbound driver, its neighbour entry stand; and flows lead
// out of the network's patch port when it arrives.
type watch struct {
	node *Node
	seen journal.Mark
	held map[object]map[netip.Prefix]int // how many of each there are

	mu    sync.Mutex
	flows []string // violations found by flow snapshots
	busy  sync.WaitGroup
}

type object int

const (
	rule object = iota
	route
	neighbour
	address
)

var objectNames = [...]string{"rule", "route", "neighbour entry", "address"}

const (
	bgpNIC       = "bgp-nic"
	vrfTable     = 10
	rulePriority = 32000
)

func newWatch(n *Node) *watch {
	w := &watch{node: n, held: map[object]map[netip.Prefix]int{rule: {}, route: {}, neighbour: {}, address: {}}}
	n.Journal.OnAddr(bgpNIC, w.snapshotFlows)
	return w
}

// violations replays what the kernel reported since the last call.
func (w *watch) violations() []string {
	w.busy.Wait()
	mark := w.node.Journal.Now()
	var found []string
	for _, e := range w.node.Journal.Since(w.seen) {
		found = append(found, w.replay(e)...)
	}
	w.seen = mark
	w.mu.Lock()
	defer w.mu.Unlock()
	found = append(found, w.flows...)
	w.flows = nil
	return found
}

func (w *watch) replay(e journal.Entry) []string {
	if e.Kind == journal.Overflow {
		return []string{w.node.name + ": the kernel's notifications overflowed; the order cannot be proved"}
	}
	what, matters := classify(e)
	if !matters {
		return nil
	}
	count := w.held[what]
	switch {
	case e.Op == journal.Add && what == address:
		count[e.Prefix]++
		if count[e.Prefix] > 1 {
			return nil
		}
		return w.announced(e)
	case e.Op == journal.Add:
		count[e.Prefix] = 1 // a replacement reports no removal
	default:
		delete(count, e.Prefix)
		if what != address && w.held[address][e.Prefix] > 0 {
			return []string{fmt.Sprintf("%s: %s lost its %s while it was announced: %s", w.node.name, e.Prefix, objectNames[what], e.Text)}
		}
	}
	return nil
}

// announced: everything that the address needs must stand already.
func (w *watch) announced(e journal.Entry) []string {
	needs := []object{rule, route}
	if w.node.lab.Driver == NB {
		needs = append(needs, neighbour)
	}
	var found []string
	for _, need := range needs {
		if w.held[need][e.Prefix] == 0 {
			found = append(found, fmt.Sprintf("%s: %s was announced before its %s stood", w.node.name, e.Prefix, objectNames[need]))
		}
	}
	return found
}

// classify tells which of an exposure's objects an entry is about.
func classify(e journal.Entry) (object, bool) {
	if !e.Prefix.IsValid() || !e.Prefix.IsSingleIP() || e.Prefix.Addr().IsLinkLocalUnicast() {
		return 0, false
	}
	switch e.Kind {
	case journal.Rule:
		return rule, e.Priority == rulePriority
	case journal.Route:
		if e.Dev == bgpNIC {
			return address, e.Table == vrfTable // the kernel may tell of the address itself later
		}
		return route, e.Table < 253 && e.Table != vrfTable
	case journal.Neigh:
		return neighbour, e.Permanent && e.Flags&unix.NTF_PROXY == 0
	case journal.Addr:
		return address, e.Dev == bgpNIC
	}
	return 0, false
}

var tweak = regexp.MustCompile(`priority=900,ip,in_port=\S+ actions=mod_dl_dst`)

// snapshotFlows looks at the flows at the moment when an address arrives.
func (w *watch) snapshotFlows(e journal.Entry) {
	if !e.Prefix.IsSingleIP() || e.Prefix.Addr().IsLinkLocalUnicast() || isSentinel(e.Prefix) {
		return
	}
	w.busy.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, bridge := range w.node.bridges() {
			out, err := w.node.Run(ctx, "ovs-ofctl", "dump-flows", "--no-stats", bridge, "cookie=999/-1")
			if err == nil && tweak.MatchString(out) {
				return
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.flows = append(w.flows, fmt.Sprintf("%s: %s was announced before any flow led out of its network's patch port", w.node.name, e.Prefix))
	})
}
