package fabric

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/apiutil"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
)

// recorder turns GoBGP's events into those of the timeline.
type recorder struct {
	nodes    map[netip.Addr]string // by session address
	timeline *Timeline
	log      *slog.Logger

	mu sync.Mutex
	up map[netip.Addr]bool // sessions in state Established
}

func newRecorder(peers []Peer, tl *Timeline, log *slog.Logger) *recorder {
	r := &recorder{nodes: map[netip.Addr]string{}, timeline: tl, log: log, up: map[netip.Addr]bool{}}
	for _, p := range peers {
		r.nodes[p.Address] = p.Name
	}
	return r
}

func (r *recorder) established(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := false
	for address, name := range r.nodes {
		if name == node {
			known = true
			if !r.up[address] {
				return false
			}
		}
	}
	return known
}

// session records a change of a session's state. lost is true when it was
// Established before.
func (r *recorder) session(state *api.PeerState) (address netip.Addr, lost bool) {
	if state == nil {
		return netip.Addr{}, false
	}
	address, node, known := r.peer(state.NeighborAddress)
	if !known {
		return netip.Addr{}, false
	}
	up := state.SessionState == api.PeerState_ESTABLISHED
	r.mu.Lock()
	was := r.up[address]
	r.up[address] = up
	r.mu.Unlock()
	if was == up {
		return address, false
	}
	event := Event{Source: node, Session: address, Kind: SessionDown}
	if up {
		event.Kind = SessionUp
	}
	r.timeline.Record(event)
	return address, was
}

func (r *recorder) paths(paths []*api.Path) {
	for _, path := range paths {
		if path.Stale && !path.IsWithdraw {
			continue // kept through a graceful restart, not announced anew
		}
		event, err := r.event(path)
		if err != nil {
			r.log.Error("fabric: a path of GoBGP is not recorded", "peer", path.NeighborIp, "error", err)
			continue
		}
		r.timeline.Record(event)
	}
}

func (r *recorder) event(path *api.Path) (Event, error) {
	address, node, known := r.peer(path.NeighborIp)
	if !known {
		return Event{}, fmt.Errorf("unknown peer %q", path.NeighborIp)
	}
	prefix, err := prefixOf(path)
	if err != nil {
		return Event{}, err
	}
	attributes, err := apiutil.GetNativePathAttributes(path)
	if err != nil {
		return Event{}, fmt.Errorf("attributes of %s: %w", prefix, err)
	}
	event := Event{Source: node, Session: address, Prefix: prefix}
	if path.IsWithdraw {
		event.Kind = Withdraw
		event.Cause = withdrawCause(path, len(attributes))
		return event, nil
	}
	event.Kind = Update
	event.Cause = CauseUpdate
	event.setAttributes(attributes)
	return event, nil
}

// withdrawCause tells a withdrawal that the peer sent from one that GoBGP made by
// itself: only the latter is a copy of the route, with its attributes.
func withdrawCause(path *api.Path, attributes int) string {
	switch {
	case attributes == 0:
		return CauseUpdate
	case path.Stale:
		return CauseStale
	default:
		return CauseSessionDown
	}
}

func (e *Event) setAttributes(attributes []bgp.PathAttributeInterface) {
	for _, attribute := range attributes {
		switch a := attribute.(type) {
		case *bgp.PathAttributeNextHop:
			e.NextHop = addrOf(a.Value)
		case *bgp.PathAttributeMpReachNLRI:
			e.NextHop = addrOf(a.Nexthop)
		case *bgp.PathAttributeAsPath:
			for _, segment := range a.Value {
				e.ASPath = append(e.ASPath, segment.GetAS()...)
			}
		case *bgp.PathAttributeCommunities:
			e.Communities = a.Value
		}
	}
}

func prefixOf(path *api.Path) (netip.Prefix, error) {
	nlri, err := apiutil.GetNativeNlri(path)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("network layer reachability information: %w", err)
	}
	prefix, err := netip.ParsePrefix(nlri.String())
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("network layer reachability information: %w", err)
	}
	return prefix, nil
}

func (r *recorder) peer(text string) (netip.Addr, string, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, "", false
	}
	node, known := r.nodes[address]
	return address, node, known
}

// addrOf is the zero address for a next hop that is none.
func addrOf(ip net.IP) netip.Addr {
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap()
}
