package rtnl

import (
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func parseLink(m *Message, payload []byte, names Names) error {
	attrs, err := attributes(payload, unix.SizeofIfInfomsg)
	if err != nil {
		return err
	}
	header := nl.DeserializeIfInfomsg(payload)
	m.Family = int(header.Family)
	m.Index = int(header.Index)
	m.Flags = int(header.Flags)
	m.Dev = text(attrs[unix.IFLA_IFNAME])
	m.LLAddr = hardwareAddr(attrs[unix.IFLA_ADDRESS])
	m.LinkInfo = linkInfo(attrs, names)
	m.Text = linkText(m)
	return nil
}

func linkInfo(attrs map[uint16][]byte, names Names) LinkInfo {
	info := LinkInfo{}
	if master := number(attrs[unix.IFLA_MASTER]); master != 0 {
		info.Master = names(master)
	}
	detail := nested(attrs[unix.IFLA_LINKINFO])
	data := nested(detail[unix.IFLA_INFO_DATA])
	info.Kind = text(detail[unix.IFLA_INFO_KIND])
	switch info.Kind {
	case "vrf":
		info.Table = number(data[nl.IFLA_VRF_TABLE])
	case "vlan":
		info.VLAN = number(data[nl.IFLA_VLAN_ID])
		info.Parent = names(number(attrs[unix.IFLA_LINK]))
	}
	return info
}

func parseAddr(m *Message, payload []byte, names Names) error {
	attrs, err := attributes(payload, unix.SizeofIfAddrmsg)
	if err != nil {
		return err
	}
	header := nl.DeserializeIfAddrmsg(payload)
	m.Family = int(header.Family)
	m.Index = int(header.Index)
	m.Dev = names(m.Index)
	m.Scope = int(header.Scope)
	m.Flags = int(header.Flags)
	if flags, ok := attrs[unix.IFA_FLAGS]; ok {
		m.Flags = number(flags)
	}
	address := attrs[unix.IFA_LOCAL] // absent for IPv6; IFA_ADDRESS is the peer's on a point-to-point link
	if address == nil {
		address = attrs[unix.IFA_ADDRESS]
	}
	m.Prefix = prefix(address, int(header.Prefixlen), m.Family)
	m.Text = addrText(m)
	return nil
}

func parseRoute(m *Message, payload []byte, names Names) error {
	attrs, err := attributes(payload, unix.SizeofRtMsg)
	if err != nil {
		return err
	}
	header := nl.DeserializeRtMsg(payload)
	m.Family = int(header.Family)
	m.Prefix = prefix(attrs[unix.RTA_DST], int(header.Dst_len), m.Family)
	m.Table = tableOf(int(header.Table), attrs[unix.RTA_TABLE])
	m.Proto = int(header.Protocol)
	m.Scope = int(header.Scope)
	m.Type = int(header.Type)
	m.Flags = int(header.Flags)
	m.Priority = number(attrs[unix.RTA_PRIORITY])
	m.Index = number(attrs[unix.RTA_OIF])
	if m.Index != 0 {
		m.Dev = names(m.Index)
	}
	m.Gateway = gatewayOf(attrs)
	m.Text = routeText(m, nextHops(attrs[unix.RTA_MULTIPATH], names))
	return nil
}

func tableOf(short int, long []byte) int {
	if long != nil {
		return number(long) // the header's field has only eight bits
	}
	return short
}

// gatewayOf also reads RTA_VIA, an IPv4 route's gateway of family IPv6.
func gatewayOf(attrs map[uint16][]byte) netip.Addr {
	if gateway, ok := netip.AddrFromSlice(attrs[unix.RTA_GATEWAY]); ok {
		return gateway
	}
	if via := attrs[unix.RTA_VIA]; len(via) > 2 {
		gateway, _ := netip.AddrFromSlice(via[2:])
		return gateway
	}
	return netip.Addr{}
}

// nextHop is one of several next hops of a route.
type nextHop struct {
	dev     string
	gateway netip.Addr
}

func nextHops(multipath []byte, names Names) []nextHop {
	var hops []nextHop
	for len(multipath) >= unix.SizeofRtNexthop {
		header := nl.DeserializeRtNexthop(multipath)
		length := int(header.RtNexthop.Len)
		if length < unix.SizeofRtNexthop || length > len(multipath) {
			break
		}
		attrs := nested(multipath[unix.SizeofRtNexthop:length])
		hops = append(hops, nextHop{dev: names(int(header.Ifindex)), gateway: gatewayOf(attrs)})
		multipath = multipath[min(len(multipath), (length+3)&^3):]
	}
	return hops
}

func parseRule(m *Message, payload []byte, _ Names) error {
	attrs, err := attributes(payload, unix.SizeofRtMsg) // struct fib_rule_hdr has the same size and order
	if err != nil {
		return err
	}
	header := nl.DeserializeRtMsg(payload)
	m.Family = int(header.Family)
	m.Prefix = prefix(attrs[nl.FRA_DST], int(header.Dst_len), m.Family)
	m.Table = tableOf(int(header.Table), attrs[unix.RTA_TABLE])
	m.Priority = number(attrs[nl.FRA_PRIORITY])
	m.Proto = number(attrs[nl.FRA_PROTOCOL])
	m.Type = int(header.Type)
	m.Flags = int(header.Flags)
	selector := ruleSelector{
		src:    prefix(attrs[nl.FRA_SRC], int(header.Src_len), m.Family),
		iif:    text(attrs[nl.FRA_IIFNAME]),
		oif:    text(attrs[nl.FRA_OIFNAME]),
		fwmark: number(attrs[nl.FRA_FWMARK]),
		l3mdev: number(attrs[unix.FRA_L3MDEV]) != 0,
	}
	m.Text = ruleText(m, selector)
	return nil
}

// ruleSelector is what a rule matches besides the destination.
type ruleSelector struct {
	src      netip.Prefix
	iif, oif string
	fwmark   int
	l3mdev   bool
}

func parseNeigh(m *Message, payload []byte, names Names) error {
	const headerSize = 12 // struct ndmsg
	attrs, err := attributes(payload, headerSize)
	if err != nil {
		return err
	}
	m.Family = int(payload[0])
	m.Index = number(payload[4:8])
	m.State = number(payload[8:10])
	m.Flags = int(payload[10])
	if m.Index != 0 {
		m.Dev = names(m.Index)
	}
	if address, ok := netip.AddrFromSlice(attrs[unix.NDA_DST]); ok {
		m.Prefix = netip.PrefixFrom(address, address.BitLen())
	}
	m.LLAddr = hardwareAddr(attrs[unix.NDA_LLADDR])
	m.Text = neighText(m)
	return nil
}

func hardwareAddr(value []byte) string { return net.HardwareAddr(value).String() }

// text is a string that the kernel ends with a NUL.
func text(value []byte) string { return strings.TrimRight(string(value), "\x00") }
