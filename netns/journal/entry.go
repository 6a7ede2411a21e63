package journal

import (
	"fmt"
	"net/netip"
	"time"

	"ovn-bgp-agent/netns/journal/rtnl"
)

// Entry is one change.
type Entry struct {
	Seq  int       // position in the journal, from 0
	Time time.Time // when it was read from the kernel
	Kind Kind
	Op   Op

	Prefix   netip.Prefix // address, destination of a route or rule, neighbour as host prefix
	Dev      string
	Table    int
	Priority int // of a rule; the metric of a route
	Proto    int // RTPROT_* of a route or rule
	Scope    int // RT_SCOPE_* of an address or route
	Gateway  netip.Addr
	LLAddr   string
	State    int // NUD_* of a neighbour
	// Permanent says that the neighbour is PERMANENT, or was until its removal, for
	// which the kernel reports FAILED.
	Permanent bool
	Flags     int // IFF_*, IFA_F_*, RTM_F_*, FIB_RULE_* or NTF_*, by kind

	// Text is the object in the syntax of ip(8), without the names of kind and
	// operation; of an Overflow, what happened.
	Text string
}

// Kind is the kind of object that an [Entry] is about.
type Kind string

// The kinds.
const (
	Link  = Kind(rtnl.Link)
	Addr  = Kind(rtnl.Addr)
	Route = Kind(rtnl.Route)
	Rule  = Kind(rtnl.Rule)
	Neigh = Kind(rtnl.Neigh)
	// Overflow says that entries are missing at this place: the kernel ran out of
	// buffer (ENOBUFS), or a message was not understood.
	Overflow Kind = "overflow"
)

// Op is what happened to the object. The kernel reports a change as an addition.
type Op string

// The operations.
const (
	Add Op = "add"
	Del Op = "del"
)

func entryOf(m rtnl.Message) Entry {
	op := Add
	if m.Deleted {
		op = Del
	}
	return Entry{
		Kind: Kind(m.Kind), Op: op,
		Prefix: m.Prefix, Dev: m.Dev, Table: m.Table, Priority: m.Priority, Proto: m.Proto, Scope: m.Scope,
		Gateway: m.Gateway, LLAddr: m.LLAddr, State: m.State, Flags: m.Flags, Text: m.Text,
	}
}

// String is the entry as "rule add 32000: from all to 172.24.4.10 lookup 201".
func (e Entry) String() string {
	if e.Kind == Overflow {
		return string(e.Kind) + " " + e.Text
	}
	return fmt.Sprintf("%s %s %s", e.Kind, e.Op, e.Text)
}
