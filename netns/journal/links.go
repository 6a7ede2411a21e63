package journal

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/netns/journal/rtnl"
)

// links is what the messages leave out: the names of interfaces, and which
// neighbours were permanent.
type links struct {
	names     map[int]string
	permanent map[neighbour]bool
}

type neighbour struct {
	link    int
	address netip.Addr
}

func readLinks(ns netns.NsHandle) (*links, error) {
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer h.Close()
	list, err := complete(h.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing links: %w", err)
	}
	l := &links{names: map[int]string{}, permanent: map[neighbour]bool{}}
	for _, link := range list {
		l.names[link.Attrs().Index] = link.Attrs().Name
	}
	neighbours, err := complete(func() ([]netlink.Neigh, error) { return h.NeighList(0, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("listing neighbours: %w", err)
	}
	for _, n := range neighbours {
		if address, ok := netip.AddrFromSlice(n.IP); ok && n.State == netlink.NUD_PERMANENT {
			l.permanent[neighbour{n.LinkIndex, address}] = true
		}
	}
	return l, nil
}

// complete repeats a dump that a change interrupted.
func complete[T any](dump func() ([]T, error)) ([]T, error) {
	for {
		list, err := dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return list, err
		}
	}
}

// name implements rtnl.Names.
func (l *links) name(index int) string { return l.names[index] }

// learn keeps up with a message, and tells of a neighbour whether it is permanent,
// or was until now. The name of a link that goes is kept: its addresses and routes
// may be reported later.
func (l *links) learn(m rtnl.Message) (permanent bool) {
	switch {
	case m.Kind == rtnl.Link && m.Dev != "":
		l.names[m.Index] = m.Dev
	case m.Kind == rtnl.Neigh:
		return l.learnNeighbour(m)
	}
	return false
}

func (l *links) learnNeighbour(m rtnl.Message) bool {
	key := neighbour{m.Index, m.Prefix.Addr()}
	switch {
	case m.Deleted:
		was := l.permanent[key]
		delete(l.permanent, key)
		return was
	case m.State == unix.NUD_PERMANENT:
		l.permanent[key] = true
		return true
	case m.State != unix.NUD_FAILED: // the step before its removal
		delete(l.permanent, key)
	}
	return false
}
