package kernel

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// TestToleratedErrors: the kernel answers with the errno, the step succeeds.
func TestToleratedErrors(t *testing.T) {
	rule := node.Rule{Dst: prefix("172.24.4.10/32"), Table: table}
	route := node.Route{Table: table, Dst: prefix("172.24.4.10/32")}
	address := prefix("169.254.1.1/32")
	address6 := prefix("fd53:d91e:400:7f17::1:1/128")
	ip := addr("2001:db8::10")
	for name, test := range map[string]struct {
		before  []node.Step
		request func(index int) *nl.NetlinkRequest
		errno   syscall.Errno
		step    node.Step
	}{
		"rule exists": {
			[]node.Step{makeStep(rule, present)},
			func(int) *nl.NetlinkRequest {
				return ruleRequest(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, rule)
			},
			unix.EEXIST, makeStep(rule, present),
		},
		"rule is absent": {
			nil, func(int) *nl.NetlinkRequest { return ruleRequest(unix.RTM_DELRULE, 0, rule) },
			unix.ENOENT, removeStep(rule, present),
		},
		"route is absent": {
			nil, func(index int) *nl.NetlinkRequest { return routeRequest(unix.RTM_DELROUTE, 0, route, link4, index) },
			unix.ESRCH, removeStep(route, link4),
		},
		"address exists": {
			[]node.Step{makeStep(node.Address{Dev: bridge, Prefix: address}, present)},
			func(index int) *nl.NetlinkRequest {
				return addressRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, address)
			},
			unix.EEXIST, makeStep(node.Address{Dev: bridge, Prefix: address}, present),
		},
		"IPv6 address exists": {
			[]node.Step{makeStep(node.Address{Dev: bridge, Prefix: address6}, present)},
			func(index int) *nl.NetlinkRequest {
				return addressRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, address6)
			},
			unix.EEXIST, makeStep(node.Address{Dev: bridge, Prefix: address6}, present),
		},
		"address is absent": {
			nil, func(index int) *nl.NetlinkRequest { return addressRequest(unix.RTM_DELADDR, 0, index, address) },
			unix.EADDRNOTAVAIL, removeStep(node.Address{Dev: bridge, Prefix: address}, present),
		},
		"IPv6 address is absent": {
			nil, func(index int) *nl.NetlinkRequest { return addressRequest(unix.RTM_DELADDR, 0, index, address6) },
			unix.EADDRNOTAVAIL, removeStep(node.Address{Dev: bridge, Prefix: address6}, present),
		},
		"neighbour is absent": {
			nil, func(index int) *nl.NetlinkRequest { return neighbourRequest(unix.RTM_DELNEIGH, 0, index, ip, 0) },
			unix.ENOENT, removeStep(node.Neighbour{Dev: bridge, IP: ip}, "fa:16:3e:00:00:0a"),
		},
		"proxy is absent": {
			nil, func(index int) *nl.NetlinkRequest {
				return neighbourRequest(unix.RTM_DELNEIGH, 0, index, ip, unix.NTF_PROXY)
			},
			unix.ENOENT, removeStep(node.Proxy{Dev: bridge, IP: ip}, present),
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.apply(test.before...)
			index, err := l.index(context.Background(), bridge)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.conn.change(test.request(index)); !errors.Is(err, test.errno) {
				t.Fatalf("the kernel answers %v, the test is about %v", err, test.errno)
			}
			l.apply(test.step)
		})
	}
}

// TestRaisedErrors: what is no success is an error that names object and errno.
func TestRaisedErrors(t *testing.T) {
	const mac = "fa:16:3e:00:00:0a"
	gone := func(kind string, key node.Key, value node.Value) raised {
		return raised{"device missing, " + kind, nil, makeStep(key, value), unix.ENODEV, `"gone"`}
	}
	away := link4
	away.Dev = "gone"
	for _, test := range []raised{
		{"IPv4 gateway unreachable", nil, makeStep(node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, via4), unix.ENETUNREACH, "Nexthop has invalid gateway"},
		{"IPv6 gateway unreachable", nil, makeStep(node.Route{Table: table, Dst: prefix("2001:db8:1::/64"), Metric: 1024}, via6), unix.EHOSTUNREACH, ""},
		{"IPv6 gateway is local", []node.Step{makeStep(node.Address{Dev: bridge, Prefix: prefix("2001:db8:ffff::1/128")}, present)},
			makeStep(node.Route{Table: table, Dst: prefix("2001:db8:1::/64"), Metric: 1024}, via6), unix.EINVAL, "Gateway can not be a local address"},
		{"route with host bits", nil, makeStep(node.Route{Table: table, Dst: prefix("10.1.0.1/16")}, link4), unix.EINVAL, ""},
		{"IPv6 address exists with another prefix length", []node.Step{makeStep(node.Address{Dev: bridge, Prefix: prefix("2001:db8::1/64")}, present)},
			makeStep(node.Address{Dev: bridge, Prefix: prefix("2001:db8::1/128")}, present), unix.EEXIST, "2001:db8::1/64"},
		{"rule that the kernel takes for another", nil,
			makeStep(node.Rule{Dst: prefix("172.24.4.10/32"), Table: table}, present), unix.EEXIST, "more selectors"},
		{"multicast address", nil, makeStep(node.Announcement{Prefix: prefix("ff02::1/128")}, present), unix.EADDRNOTAVAIL, ""},
		{"bridge missing", nil, makeStep(node.LinkUp{Dev: "gone"}, present), unix.ENODEV, "never makes one"},
		{"parameter missing", nil, makeStep(node.SysctlKey("ipv4", "gone", "proxy_arp"), "1"), unix.ENOENT, "conf/gone/proxy_arp"},
		{"parameter refused", nil, makeStep(node.SysctlKey("ipv4", bridge, "proxy_arp"), "no number"), unix.EINVAL, ""},
		{"master missing", nil, makeStep(node.Device{Name: "new"}, node.DeviceSpec{Type: "dummy", Master: "gone"}), unix.ENODEV, `"gone"`},
		gone("address", node.Address{Dev: "gone", Prefix: prefix("169.254.1.1/32")}, present),
		gone("neighbour", node.Neighbour{Dev: "gone", IP: addr("10.0.0.1")}, mac),
		gone("proxy", node.Proxy{Dev: "gone", IP: addr("2001:db8::")}, present),
		gone("route", node.Route{Table: table, Dst: prefix("10.0.0.1/32")}, away),
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			l.ip("rule add from 10.0.0.1 to 172.24.4.10 lookup 201 priority 32000")
			l.apply(test.before...)
			err := l.Apply(context.Background(), test.step)
			if !errors.Is(err, test.errno) {
				t.Fatalf("error is %v, want %v", err, test.errno)
			}
			for _, part := range []string{test.step.Key.String(), unix.ErrnoName(test.errno) + ":", test.text} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}

type raised struct {
	name   string
	before []node.Step
	step   node.Step
	errno  syscall.Errno
	text   string
}

// TestRemoveFromMissingDevice: what was on a device that is gone is gone.
func TestRemoveFromMissingDevice(t *testing.T) {
	l := newLab(t)
	away := link4
	away.Dev = "gone"
	l.apply(
		removeStep(node.Address{Dev: "gone", Prefix: prefix("169.254.1.1/32")}, present),
		removeStep(node.Neighbour{Dev: "gone", IP: addr("10.0.0.1")}, "fa:16:3e:00:00:0a"),
		removeStep(node.Proxy{Dev: "gone", IP: addr("2001:db8::")}, present),
		removeStep(node.Route{Table: table, Dst: prefix("10.0.0.1/32")}, away),
		removeStep(node.Route{Table: table, Dst: prefix("10.0.0.1/32")}, nil),
		removeStep(node.Device{Name: "gone"}, node.DeviceSpec{Type: "vlan"}),
	)
}

func TestStepsThatAreNotTheKernels(t *testing.T) {
	l := newLab(t)
	for name, step := range map[string]node.Step{
		"flow":           makeStep(node.Flow{Bridge: bridge}, "drop"),
		"table line":     removeStep(node.RTTable{Name: bridge}, uint32(table)),
		"bridge down":    removeStep(node.LinkUp{Dev: bridge}, present),
		"parameter":      removeStep(node.SysctlKey("ipv4", bridge, "proxy_arp"), "1"),
		"remove bridge":  removeStep(node.Device{Name: bridge}, node.DeviceSpec{Type: "bridge"}),
		"wrong value":    makeStep(node.Neighbour{Dev: bridge, IP: addr("10.0.0.1")}, 1),
		"bad MAC":        makeStep(node.Neighbour{Dev: bridge, IP: addr("10.0.0.1")}, "router"),
		"not a dummy":    makeStep(node.Device{Name: bgpNIC}, node.DeviceSpec{Type: "dummy", Up: true}),
		"another number": makeStep(node.RTTable{Name: bridge}, uint32(202)),
	} {
		before := l.state()
		if err := l.Apply(context.Background(), step); err == nil || !strings.Contains(err.Error(), step.Key.String()) {
			t.Errorf("%s: error is %v, want one that names the object", name, err)
		}
		l.expect(before)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Apply(ended, makeStep(node.Rule{Dst: prefix("10.0.0.1/32"), Table: table}, present)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %v", err)
	}
}

// TestDeviceMadeAgain: the index of a device is not trusted beyond its life.
func TestDeviceMadeAgain(t *testing.T) {
	l := newLab(t)
	old, err := l.index(context.Background(), bridge)
	if err != nil {
		t.Fatal(err)
	}
	l.ip("link del " + bridge)
	l.ip("link add " + bridge + " type bridge")
	l.ip("link set " + bridge + " up")
	if now, err := netlink.LinkByName(bridge); err != nil || now.Attrs().Index == old {
		t.Fatalf("the device has its old index %d (%v)", old, err)
	}
	for _, step := range []node.Step{
		makeStep(node.Address{Dev: bridge, Prefix: prefix("169.254.1.1/32")}, present),
		makeStep(default4, link4),
		makeStep(default6, device6),
		makeStep(node.Neighbour{Dev: bridge, IP: addr("10.0.0.1")}, "fa:16:3e:00:00:0a"),
		makeStep(node.Proxy{Dev: bridge, IP: addr("2001:db8::")}, present),
	} {
		l.mu.Lock()
		l.indexes[bridge] = old
		l.mu.Unlock()
		before := l.state()
		l.mu.Lock()
		l.indexes[bridge] = old // as before the Read
		l.mu.Unlock()
		l.apply(step)
		l.expect(plus(before, step.Key, step.Value))
	}
}

func TestWrites(t *testing.T) {
	l := newLab(t)
	parameter := node.SysctlKey("ipv4", bridge, "proxy_arp")
	l.apply(makeStep(default4, link4), makeStep(parameter, "1"), makeStep(node.RTTable{Name: "br-new"}, uint32(202)))
	want := map[node.Kind]uint64{node.KindRoute: 1, node.KindSysctl: 1, node.KindRTTable: 1}
	check := func() {
		t.Helper()
		got := l.Writes()
		for kind := node.KindRTTable; kind <= node.KindAnnouncement; kind++ {
			if got[kind] != want[kind] {
				t.Errorf("%d writes of %s, want %d", got[kind], kind, want[kind])
			}
		}
	}
	check()
	l.state()
	l.apply(makeStep(parameter, "1"), makeStep(node.RTTable{Name: "br-new"}, uint32(202)))
	check()
}
