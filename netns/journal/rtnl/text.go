package rtnl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// scopes and protocols are the names of ip(8) in /etc/iproute2; others are numbers.
func scopeName(scope int) string {
	switch scope {
	case unix.RT_SCOPE_UNIVERSE:
		return "global"
	case unix.RT_SCOPE_LINK:
		return "link"
	case unix.RT_SCOPE_HOST:
		return "host"
	case unix.RT_SCOPE_NOWHERE:
		return "nowhere"
	}
	return strconv.Itoa(scope)
}

func protoName(proto int) string {
	switch proto {
	case unix.RTPROT_KERNEL:
		return "kernel"
	case unix.RTPROT_STATIC:
		return "static"
	case unix.RTPROT_RA:
		return "ra"
	case unix.RTPROT_ZEBRA:
		return "zebra"
	case unix.RTPROT_BGP:
		return "bgp"
	}
	return strconv.Itoa(proto)
}

func routeTypeName(kind int) string {
	names := map[int]string{
		unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast",
		unix.RTN_MULTICAST: "multicast", unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable",
		unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw",
	}
	return names[kind]
}

func linkText(m *Message) string {
	text := words{m.Dev}
	if m.LinkInfo.Parent != "" {
		text[0] += "@" + m.LinkInfo.Parent
	}
	text.add(map[bool]string{true: "up", false: "down"}[m.Flags&unix.IFF_UP != 0])
	text.pair("master", m.LinkInfo.Master)
	text.add(m.LinkInfo.Kind)
	switch m.LinkInfo.Kind {
	case "vrf":
		text.pair("table", strconv.Itoa(m.LinkInfo.Table))
	case "vlan":
		text.pair("id", strconv.Itoa(m.LinkInfo.VLAN))
	}
	return text.String()
}

func addrText(m *Message) string {
	text := words{m.Prefix.String()}
	text.pair("dev", m.Dev)
	if m.Scope != unix.RT_SCOPE_UNIVERSE {
		text.pair("scope", scopeName(m.Scope))
	}
	return text.String()
}

func routeText(m *Message, hops []nextHop) string {
	text := words{}
	text.add(routeTypeName(m.Type))
	text.add(hostOrPrefix(m.Prefix))
	text.addr("via", m.Gateway)
	text.pair("dev", m.Dev)
	text.pair("table", strconv.Itoa(m.Table))
	if m.Proto != unix.RTPROT_BOOT {
		text.pair("proto", protoName(m.Proto))
	}
	if m.Family == unix.AF_INET && m.Scope != unix.RT_SCOPE_UNIVERSE {
		text.pair("scope", scopeName(m.Scope))
	}
	if m.Priority != 0 {
		text.pair("metric", strconv.Itoa(m.Priority))
	}
	for _, hop := range hops {
		text.add("nexthop")
		text.addr("via", hop.gateway)
		text.pair("dev", hop.dev)
	}
	return text.String()
}

func ruleText(m *Message, s ruleSelector) string {
	text := words{strconv.Itoa(m.Priority) + ":"}
	if m.Flags&unix.FIB_RULE_INVERT != 0 {
		text.add("not")
	}
	text.pair("from", allOrPrefix(s.src))
	if m.Prefix.Bits() > 0 {
		text.pair("to", hostOrPrefix(m.Prefix))
	}
	if s.fwmark != 0 {
		text.pair("fwmark", fmt.Sprintf("0x%x", s.fwmark))
	}
	text.pair("iif", s.iif)
	text.pair("oif", s.oif)
	switch {
	case s.l3mdev:
		text.pair("lookup", "[l3mdev-table]")
	case m.Type == unix.RTN_UNICAST: // FR_ACT_TO_TBL
		text.pair("lookup", strconv.Itoa(m.Table))
	default:
		text.add(map[int]string{unix.FR_ACT_BLACKHOLE: "blackhole", unix.FR_ACT_UNREACHABLE: "unreachable", unix.FR_ACT_PROHIBIT: "prohibit"}[m.Type])
	}
	return text.String()
}

func neighText(m *Message) string {
	text := words{m.Prefix.Addr().String()}
	text.pair("dev", m.Dev)
	text.pair("lladdr", m.LLAddr)
	if m.Flags&unix.NTF_PROXY != 0 {
		text.add("proxy")
		return text.String()
	}
	text.add(stateName(m.State))
	return text.String()
}

func stateName(state int) string {
	names := map[int]string{
		unix.NUD_INCOMPLETE: "INCOMPLETE", unix.NUD_REACHABLE: "REACHABLE", unix.NUD_STALE: "STALE",
		unix.NUD_DELAY: "DELAY", unix.NUD_PROBE: "PROBE", unix.NUD_FAILED: "FAILED",
		unix.NUD_NOARP: "NOARP", unix.NUD_PERMANENT: "PERMANENT", unix.NUD_NONE: "NONE",
	}
	return names[state]
}

// hostOrPrefix leaves the length of a host prefix out, as ip(8) does for routes
// and rules.
func hostOrPrefix(p netip.Prefix) string {
	switch p.Bits() {
	case 0:
		return "default"
	case p.Addr().BitLen():
		return p.Addr().String()
	}
	return p.String()
}

func allOrPrefix(p netip.Prefix) string {
	if p.Bits() == 0 {
		return "all"
	}
	return hostOrPrefix(p)
}

// words builds a line of words; empty ones are left out.
type words []string

func (w *words) add(word string) {
	if word != "" {
		*w = append(*w, word)
	}
}

func (w *words) pair(name, value string) {
	if value != "" {
		*w = append(*w, name, value)
	}
}

func (w *words) addr(name string, a netip.Addr) {
	if a.IsValid() {
		w.pair(name, a.String())
	}
}

func (w *words) String() string { return strings.Join(*w, " ") }
