package rtnl

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// payload is a header with attributes behind it.
func payload(header nl.NetlinkRequestData, attributes ...*nl.RtAttr) []byte {
	data := header.Serialize()
	for _, a := range attributes {
		data = append(data, a.Serialize()...)
	}
	return data
}

func linkInfoAttr(kind string, data ...*nl.RtAttr) *nl.RtAttr {
	info := nl.NewRtAttr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated(kind))
	detail := info.AddRtAttr(unix.IFLA_INFO_DATA, nil)
	for _, d := range data {
		detail.AddChild(d)
	}
	return info
}

func ifinfo(index, flags int) *nl.IfInfomsg {
	header := nl.NewIfInfomsg(unix.AF_UNSPEC)
	header.Index, header.Flags = int32(index), uint32(flags)
	return header
}

func rtmsg(m unix.RtMsg) *nl.RtMsg { return &nl.RtMsg{RtMsg: m} }

func TestTextsThatNeedDevicesOrRulesOfOtherKernels(t *testing.T) {
	names := func(index int) string { return map[int]string{1: "br-ex", 2: "bgp-vrf", 3: "eth1"}[index] }
	gateway := netip.MustParseAddr("192.0.2.1").AsSlice()
	hop := func(index int) []byte {
		header := nl.RtNexthop{RtNexthop: unix.RtNexthop{Ifindex: int32(index)}}
		header.Children = []nl.NetlinkRequestData{nl.NewRtAttr(unix.RTA_GATEWAY, gateway)}
		return header.Serialize()
	}
	tests := map[string]struct {
		messageType uint16
		payload     []byte
		want        string
	}{
		"VRF": {
			unix.RTM_NEWLINK,
			payload(ifinfo(2, unix.IFF_UP), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated("bgp-vrf")),
				linkInfoAttr("vrf", nl.NewRtAttr(nl.IFLA_VRF_TABLE, nl.Uint32Attr(10)))),
			"bgp-vrf up vrf table 10",
		},
		"dummy in a VRF": {
			unix.RTM_NEWLINK,
			payload(ifinfo(4, 0), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated("bgp-nic")),
				nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(2)), linkInfoAttr("dummy")),
			"bgp-nic down master bgp-vrf dummy",
		},
		"VLAN device": {
			unix.RTM_NEWLINK,
			payload(ifinfo(5, unix.IFF_UP), nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated("br-ex.101")),
				nl.NewRtAttr(unix.IFLA_LINK, nl.Uint32Attr(1)), linkInfoAttr("vlan", nl.NewRtAttr(nl.IFLA_VLAN_ID, nl.Uint16Attr(101)))),
			"br-ex.101@br-ex up vlan id 101",
		},
		"l3mdev rule": {
			unix.RTM_NEWRULE,
			payload(rtmsg(unix.RtMsg{Family: unix.AF_INET, Type: 1}),
				nl.NewRtAttr(nl.FRA_PRIORITY, nl.Uint32Attr(1000)), nl.NewRtAttr(unix.FRA_L3MDEV, nl.Uint8Attr(1))),
			"1000: from all lookup [l3mdev-table]",
		},
		"inverted rule with selectors": {
			unix.RTM_NEWRULE,
			payload(rtmsg(unix.RtMsg{Family: unix.AF_INET, Type: 1, Table: 100, Src_len: 24, Flags: unix.FIB_RULE_INVERT}),
				nl.NewRtAttr(nl.FRA_PRIORITY, nl.Uint32Attr(5)), nl.NewRtAttr(nl.FRA_SRC, []byte{10, 0, 0, 0}),
				nl.NewRtAttr(nl.FRA_IIFNAME, nl.ZeroTerminated("eth1")), nl.NewRtAttr(nl.FRA_FWMARK, nl.Uint32Attr(16))),
			"5: not from 10.0.0.0/24 fwmark 0x10 iif eth1 lookup 100",
		},
		"rule for a subnet with host bits": {
			unix.RTM_NEWRULE,
			payload(rtmsg(unix.RtMsg{Family: unix.AF_INET, Type: 1, Table: 201, Dst_len: 24}),
				nl.NewRtAttr(nl.FRA_PRIORITY, nl.Uint32Attr(32000)), nl.NewRtAttr(nl.FRA_DST, []byte{10, 0, 0, 1})),
			"32000: from all to 10.0.0.1/24 lookup 201",
		},
		"unreachable default in a table above 255": {
			unix.RTM_NEWROUTE,
			payload(rtmsg(unix.RtMsg{Family: unix.AF_INET6, Type: unix.RTN_UNREACHABLE, Table: unix.RT_TABLE_COMPAT, Protocol: unix.RTPROT_BOOT}),
				nl.NewRtAttr(unix.RTA_TABLE, nl.Uint32Attr(1001)), nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(4278198272))),
			"unreachable default table 1001 metric 4278198272",
		},
		"two next hops": {
			unix.RTM_NEWROUTE,
			payload(rtmsg(unix.RtMsg{Family: unix.AF_INET, Type: unix.RTN_UNICAST, Table: 254, Protocol: unix.RTPROT_BGP}),
				nl.NewRtAttr(unix.RTA_MULTIPATH, append(hop(1), hop(3)...))),
			"default table 254 proto bgp nexthop via 192.0.2.1 dev br-ex nexthop via 192.0.2.1 dev eth1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Parse(test.messageType, test.payload, names)
			if err != nil {
				t.Fatal(err)
			}
			if m.Text != test.want {
				t.Errorf("text %q, want %q", m.Text, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	if _, err := Parse(unix.RTM_NEWQDISC, nil, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("queueing discipline: %v", err)
	}
	for _, messageType := range []uint16{unix.RTM_NEWLINK, unix.RTM_NEWADDR, unix.RTM_NEWROUTE, unix.RTM_NEWRULE, unix.RTM_NEWNEIGH} {
		if _, err := Parse(messageType, []byte{2, 0}, nil); err == nil {
			t.Errorf("a message of type %d with two octets was accepted", messageType)
		}
	}
}
