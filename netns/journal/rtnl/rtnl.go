// Package rtnl turns rtnetlink messages (rtnetlink(7)) about links, addresses,
// routes, rules and neighbours into values, and into the text of ip(8).
//
// A notification and an entry of a dump are the same message, so the journal of
// changes and the state of a node share one text.
package rtnl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Kind is the kind of kernel object that a [Message] is about.
type Kind string

// The kinds, named as the objects of ip(8).
const (
	Link  Kind = "link"
	Addr  Kind = "addr"
	Route Kind = "route"
	Rule  Kind = "rule"
	Neigh Kind = "neigh"
)

// Message is one rtnetlink message. Fields that its kind does not have are zero.
type Message struct {
	Kind    Kind
	Deleted bool
	Family  int // AF_INET or AF_INET6; of neighbours also AF_BRIDGE

	Index int    // interface index
	Dev   string // the interface's name

	// Prefix is the address with its length, the destination of a route or rule, or
	// the neighbour as a host prefix. Host bits are kept. A route or rule for
	// everything has a prefix of length 0, a link has none.
	Prefix   netip.Prefix
	Table    int
	Priority int // of a rule; the metric of a route
	Proto    int // RTPROT_*: who made the route or rule
	Scope    int // RT_SCOPE_* of an address or route
	Type     int // RTN_* of a route, FR_ACT_* of a rule
	Gateway  netip.Addr
	LLAddr   string // in colon notation
	State    int    // NUD_* of a neighbour
	Flags    int    // IFF_*, IFA_F_*, RTM_F_*, FIB_RULE_* or NTF_*, by kind

	LinkInfo LinkInfo // of a link

	// Text is the object in the syntax of ip(8), without the name of its kind.
	Text string
}

// LinkInfo is what a link has that others have not.
type LinkInfo struct {
	Kind   string // "vrf", "vlan", "dummy" …; empty for physical devices
	Table  int    // of a vrf
	VLAN   int    // 802.1Q identifier of a vlan
	Parent string // the device below
	Master string // the device that it is enslaved to
}

// Names finds the name of an interface by its index; "" when unknown.
type Names func(index int) string

// kindOf says what a message type of rtnetlink(7) is about.
func kindOf(messageType uint16) (kind Kind, deleted, known bool) {
	switch messageType {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return Link, messageType == unix.RTM_DELLINK, true
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return Addr, messageType == unix.RTM_DELADDR, true
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return Route, messageType == unix.RTM_DELROUTE, true
	case unix.RTM_NEWRULE, unix.RTM_DELRULE:
		return Rule, messageType == unix.RTM_DELRULE, true
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		return Neigh, messageType == unix.RTM_DELNEIGH, true
	}
	return "", false, false
}

// ErrUnknown says that a message is about something else than a [Kind].
var ErrUnknown = errors.New("not a message about a link, address, route, rule or neighbour")

// Parse reads the payload of a message of the given type (RTM_NEWLINK …).
func Parse(messageType uint16, payload []byte, names Names) (Message, error) {
	kind, deleted, known := kindOf(messageType)
	if !known {
		return Message{}, fmt.Errorf("type %d: %w", messageType, ErrUnknown)
	}
	m := Message{Kind: kind, Deleted: deleted}
	parse := map[Kind]func(*Message, []byte, Names) error{
		Link: parseLink, Addr: parseAddr, Route: parseRoute, Rule: parseRule, Neigh: parseNeigh,
	}[kind]
	if err := parse(&m, payload, names); err != nil {
		return Message{}, fmt.Errorf("%s message: %w", kind, err)
	}
	return m, nil
}

// attributes reads the attributes behind a header of the given length. The
// kernel's nested flag is cleared.
func attributes(payload []byte, header int) (map[uint16][]byte, error) {
	if len(payload) < header {
		return nil, fmt.Errorf("%d octets are too few", len(payload))
	}
	list, err := nl.ParseRouteAttr(payload[header:])
	if err != nil {
		return nil, fmt.Errorf("attributes: %w", err)
	}
	return byType(list), nil
}

func nested(attribute []byte) map[uint16][]byte {
	list, err := nl.ParseRouteAttr(attribute)
	if err != nil {
		return nil // an attribute of unknown form has nothing for us
	}
	return byType(list)
}

// typeMask removes the flags from an attribute's type (NLA_TYPE_MASK of netlink(7)).
const typeMask = 0x3fff

func byType(list []syscall.NetlinkRouteAttr) map[uint16][]byte {
	values := make(map[uint16][]byte, len(list))
	for _, a := range list {
		values[a.Attr.Type&typeMask] = a.Value
	}
	return values
}

func number(value []byte) int {
	switch len(value) {
	case 1:
		return int(value[0])
	case 2:
		return int(binary.NativeEndian.Uint16(value))
	case 4:
		return int(binary.NativeEndian.Uint32(value))
	}
	return 0
}

// prefix is the network of an attribute; one that is absent is everything.
func prefix(value []byte, bits, family int) netip.Prefix {
	address, ok := netip.AddrFromSlice(value)
	if !ok {
		address = netip.IPv4Unspecified()
		if family == unix.AF_INET6 {
			address = netip.IPv6Unspecified()
		}
	}
	return netip.PrefixFrom(address, bits)
}
