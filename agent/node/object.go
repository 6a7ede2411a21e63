// Package node holds what the agent keeps on a node as plain values: which
// objects there are, which owners want them, how an object is recognised as
// the agent's own, and in which order a difference is applied.
//
// Everything here is pure: nothing reads or writes the node.
//
// How an object is known as the agent's own after a restart without memory
// ([Layout.Recognise]):
//
//	rt_tables line   never removed
//	device           a VLAN device BRIDGE[:10].TAG on a bridge of ours that carries
//	                 a 169.254.0.0/16 or fd53:d91e:400:7f17::/64 host address;
//	                 VRF, dummy and bridges are never removed
//	sysctl           never reset
//	address          a 169.254.0.0/16 /32 or fd53:d91e:400:7f17::/64 /128 on a
//	                 bridge of ours or on one of its VLAN devices
//	rule             priority 32000 "to PREFIX", table of a bridge of ours
//	neighbour        permanent, on such a device, while a rule of ours is for its address
//	route            proto boot in the table of a bridge of ours; or proto boot,
//	                 device bgp_nic, in the table of bgp_vrf
//	proxy            on such a device, while a rule of ours is for an address of which
//	                 the proxy is a network address
//	flow             cookie 999 on a bridge of ours
//	announcement     every host address (/32, /128) of bgp_nic
//
// The rule is the marker of an exposure: it is made first and removed last.
package node

import (
	"fmt"
	"net/netip"
)

// Kind orders objects as they are made; they are removed in the reverse order.
type Kind int

// The kinds, in the order in which an exposure is built up (side-effects.md §6).
const (
	KindRTTable Kind = iota
	KindLinkUp       // before the VLAN devices, which cannot come up on a bridge that is down
	KindDevice
	KindSysctl
	KindAddress
	KindRule
	KindNeighbour
	KindRoute
	KindProxy
	KindFlow
	KindAnnouncement
)

var kindNames = [...]string{"rt_tables", "link", "device", "sysctl", "address", "rule", "neighbour", "route", "proxy", "flow", "announcement"}

// String is the kind's name in logs and status.
func (k Kind) String() string { return kindNames[k] }

// Key identifies an object as the kernel or Open vSwitch does. The types below
// are the only implementations; all are comparable.
type Key interface {
	Kind() Kind
	// String is the object in the syntax of ip(8) or ovs-ofctl(8).
	String() string
	// Subject is the prefix that the object serves; the zero Prefix when it
	// serves no single one.
	Subject() netip.Prefix
}

// Value is what an object has beyond its key; always comparable.
type Value any

// Present is the value of an object that has no other.
type Present struct{}

// State is a set of objects.
type State map[Key]Value

// RTTable is a line of /etc/iproute2/rt_tables, by name; its value is the
// number, a uint32 (side-effects.md §2.4).
type RTTable struct{ Name string }

// Device is a link that the agent makes; its value is a [DeviceSpec].
type Device struct{ Name string }

// DeviceSpec says what a [Device] is (side-effects.md §2.2).
type DeviceSpec struct {
	Type   string // "vrf", "dummy" or "vlan"
	Table  uint32 // vrf: its routing table
	Parent string // vlan: the device below
	VLAN   uint16 // vlan: the 802.1Q id
	Master string // the device that it is enslaved to, "" for none
	Up     bool   // IFF_UP
}

// LinkUp is the administrative state of a device that the agent never makes, a
// provider bridge; its value is [Present] when the device is up.
type LinkUp struct{ Dev string }

// Sysctl is a kernel parameter in the syntax of sysctl(8), with a dot inside a
// device name written as a slash; its value is the text, a string.
type Sysctl struct{ Key string }

// Address is an address with global scope on a device other than bgp_nic.
type Address struct {
	Dev    string
	Prefix netip.Prefix
}

// RulePriority is the priority of every rule of the agent (side-effects.md §2.1).
const RulePriority = 32000

// Rule is "RulePriority: from all to Dst lookup Table". Host bits of Dst count,
// as the kernel keeps them.
type Rule struct {
	Dst   netip.Prefix
	Table uint32
}

// Neighbour is a permanent neighbour entry; its value is the link-layer address
// in lower-case colon notation, a string.
type Neighbour struct {
	Dev string
	IP  netip.Addr
}

// Route is a unicast route as the kernel keys it; its value is a [RouteSpec].
type Route struct {
	Table  uint32
	Dst    netip.Prefix // masked; 0.0.0.0/0 or ::/0 for the default route
	Metric uint32       // 0 for IPv4; IPv6 routes made without one have 1024
}

// RouteSpec is where a [Route] leads to.
type RouteSpec struct {
	Dev     string
	Gateway netip.Addr // zero for an on-link route
	Scope   uint8      // rtnetlink(7) scope: 253 link, 0 universe; 0 for IPv6
	Proto   uint8      // rtnetlink(7) protocol
}

// Numbers of rtnetlink(7) used in a RouteSpec.
const (
	ProtoBoot     = 3
	ScopeUniverse = 0
	ScopeLink     = 253
	MetricIPv6    = 1024
)

// Proxy is an NDP proxy entry (ip -6 neigh add proxy IP dev Dev).
type Proxy struct {
	Dev string
	IP  netip.Addr
}

// Cookie marks the agent's flows (side-effects.md §7).
const Cookie = 999

// Flow is an OpenFlow entry with [Cookie] in table 0 of a bridge. Match is in the
// syntax of ovs-ofctl(8); its value is the actions in the same syntax, a string.
type Flow struct {
	Bridge   string
	Priority uint16
	Match    string
}

// Announcement is a host address on bgp_nic: FRR redistributes it, so this is the
// BGP announcement itself (side-effects.md §2.3, A1).
type Announcement struct{ Prefix netip.Prefix }

// Kind implements [Key].
func (RTTable) Kind() Kind { return KindRTTable }

// Kind implements [Key].
func (Device) Kind() Kind { return KindDevice }

// Kind implements [Key].
func (LinkUp) Kind() Kind { return KindLinkUp }

// Kind implements [Key].
func (Sysctl) Kind() Kind { return KindSysctl }

// Kind implements [Key].
func (Address) Kind() Kind { return KindAddress }

// Kind implements [Key].
func (Rule) Kind() Kind { return KindRule }

// Kind implements [Key].
func (Neighbour) Kind() Kind { return KindNeighbour }

// Kind implements [Key].
func (Route) Kind() Kind { return KindRoute }

// Kind implements [Key].
func (Proxy) Kind() Kind { return KindProxy }

// Kind implements [Key].
func (Flow) Kind() Kind { return KindFlow }

// Kind implements [Key].
func (Announcement) Kind() Kind { return KindAnnouncement }

// Subject implements [Key].
func (RTTable) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (Device) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (LinkUp) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (Sysctl) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (Address) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (k Rule) Subject() netip.Prefix { return k.Dst.Masked() }

// Subject implements [Key].
func (k Neighbour) Subject() netip.Prefix { return HostPrefix(k.IP) }

// Subject implements [Key].
func (k Route) Subject() netip.Prefix {
	if k.Dst.Bits() == 0 {
		return netip.Prefix{}
	}
	return k.Dst
}

// Subject implements [Key].
func (Proxy) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (Flow) Subject() netip.Prefix { return netip.Prefix{} }

// Subject implements [Key].
func (k Announcement) Subject() netip.Prefix { return k.Prefix }

func (k RTTable) String() string { return "rt_tables " + k.Name }
func (k Device) String() string  { return "link " + k.Name }
func (k LinkUp) String() string  { return "link " + k.Dev + " up" }
func (k Sysctl) String() string  { return "sysctl " + k.Key }
func (k Address) String() string { return fmt.Sprintf("addr %s dev %s", k.Prefix, k.Dev) }
func (k Rule) String() string {
	return fmt.Sprintf("rule to %s lookup %d priority %d", k.Dst, k.Table, RulePriority)
}
func (k Neighbour) String() string { return fmt.Sprintf("neigh %s dev %s", k.IP, k.Dev) }
func (k Route) String() string     { return fmt.Sprintf("route %s table %d", k.Dst, k.Table) }
func (k Proxy) String() string     { return fmt.Sprintf("neigh proxy %s dev %s", k.IP, k.Dev) }
func (k Flow) String() string {
	return fmt.Sprintf("flow %s cookie=%d,priority=%d,%s", k.Bridge, Cookie, k.Priority, k.Match)
}
func (k Announcement) String() string { return "announce " + k.Prefix.String() }

// HostPrefix is a /32 or /128 of an address.
func HostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
