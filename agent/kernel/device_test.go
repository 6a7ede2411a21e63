package kernel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

var (
	vrf   = node.DeviceSpec{Type: kindVRF, Table: vrfTable, Up: true}
	dummy = node.DeviceSpec{Type: kindDummy, Master: bgpVRF, Up: true}
	vlan  = node.DeviceSpec{Type: kindVLAN, Parent: bridge, VLAN: 1001, Up: true}
)

// newDeviceLab is a lab without stand-in for bgp_nic, on a kernel with the devices.
func newDeviceLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	for _, link := range []netlink.Link{
		&netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}, Table: 99},
		&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "probe1"}},
	} {
		if err := netlink.LinkAdd(link); err != nil {
			t.Skipf("this kernel cannot make a VRF: %v", err)
		}
		if err := netlink.LinkDel(link); err != nil {
			t.Fatal(err)
		}
	}
	l.ip("link del " + bgpNIC)
	return l
}

// TestDevices: side-effects.md §2.2, D1, D2 and D4.
func TestDevices(t *testing.T) {
	l := newDeviceLab(t)
	want := l.state()
	for _, step := range []node.Step{
		makeStep(node.Device{Name: bgpVRF}, vrf),
		makeStep(node.Device{Name: bgpNIC}, dummy),
		makeStep(node.Device{Name: "br-ex.1001"}, vlan),
		makeStep(node.Announcement{Prefix: prefix("172.24.4.10/32")}, present),
		makeStep(node.Announcement{Prefix: prefix("2001:db8::10/128")}, present),
		makeStep(node.Address{Dev: "br-ex.1001", Prefix: prefix("169.254.1.233/32")}, present),
		makeStep(node.Address{Dev: "br-ex.1001", Prefix: prefix("fd53:d91e:400:7f17::1:e9/128")}, present),
		makeStep(node.Neighbour{Dev: "br-ex.1001", IP: addr("172.24.4.10")}, "fa:16:3e:00:00:0a"),
		makeStep(node.Proxy{Dev: "br-ex.1001", IP: addr("2001:db8::")}, present),
		makeStep(node.Route{Table: table, Dst: prefix("172.24.4.10/32")}, node.RouteSpec{Dev: "br-ex.1001", Scope: node.ScopeLink, Proto: node.ProtoBoot}),
		makeStep(node.Route{Table: vrfTable, Dst: prefix("10.1.0.0/16")}, node.RouteSpec{Dev: bgpNIC, Scope: node.ScopeLink, Proto: node.ProtoBoot}),
	} {
		l.apply(step)
		want = plus(want, step.Key, step.Value)
		l.expect(want)
		l.apply(step)
		l.expect(want)
	}
	for command, text := range map[string]string{
		"-d link show bgp-vrf":    "vrf table 10",
		"-d link show bgp-nic":    "master bgp-vrf state UNKNOWN",
		"-d link show br-ex.1001": "vlan protocol 802.1Q id 1001",
		"rule show":               "1000:\tfrom all lookup [l3mdev-table]",
	} {
		if got := l.ip(command); !strings.Contains(got, text) {
			t.Errorf("ip %s:\n%slacks %q", command, got, text)
		}
	}
}

// TestDevicesOfOthers: what differs and can be changed is corrected, the rest stays.
func TestDevicesOfOthers(t *testing.T) {
	l := newDeviceLab(t)
	l.ip("link add bgp-vrf type vrf table 10")
	l.ip("link add bgp-nic type dummy")
	l.ip("link add link br-ex name br-ex.1001 type vlan id 1001")
	l.ip("link add other type vrf table 11")
	l.ip("link set bgp-nic master other")
	before := l.state()
	if got := before[node.Device{Name: bgpNIC}]; got != (node.DeviceSpec{Type: kindDummy, Master: "other"}) {
		t.Errorf("bgp-nic is read as %+v", got)
	}
	want := plus(plus(plus(before, node.Device{Name: bgpVRF}, vrf), node.Device{Name: bgpNIC}, dummy), node.Device{Name: "br-ex.1001"}, vlan)
	steps := []node.Step{makeStep(node.Device{Name: bgpVRF}, vrf), makeStep(node.Device{Name: bgpNIC}, dummy), makeStep(node.Device{Name: "br-ex.1001"}, vlan)}
	l.apply(steps...)
	l.expect(want)

	address := node.Announcement{Prefix: prefix("172.24.4.10/32")}
	l.apply(makeStep(address, present))
	want = plus(want, address, present)
	writes := l.Writes()[node.KindDevice]
	l.apply(steps...)
	l.expect(want)
	if now := l.Writes()[node.KindDevice]; now != writes {
		t.Errorf("%d writes on devices that are as wanted", now-writes)
	}
	l.ip("link set br-ex.1001 down")
	l.ip("link set bgp-nic nomaster")
	l.apply(steps...)
	l.expect(want)
}

func TestDeviceThatCannotBeCorrected(t *testing.T) {
	for name, test := range map[string]struct {
		command string
		dev     string
		spec    node.DeviceSpec
		texts   []string
	}{
		"VRF table":     {"add bgp-vrf type vrf table 20", bgpVRF, vrf, []string{"table 20", "table 10"}},
		"no VRF":        {"add bgp-vrf type dummy", bgpVRF, vrf, []string{`"dummy"`, `"vrf"`}},
		"no dummy":      {"add bgp-nic type bridge", bgpNIC, dummy, []string{`"bridge"`, `"dummy"`}},
		"VLAN id":       {"add link br-ex name br-ex.1001 type vlan id 7", "br-ex.1001", vlan, []string{"VLAN 7", "VLAN 1001"}},
		"VLAN parent":   {"add link br-big name br-ex.1001 type vlan id 1001", "br-ex.1001", vlan, []string{`"br-big"`, `"br-ex"`}},
		"VLAN protocol": {"add link br-ex name br-ex.1001 type vlan protocol 802.1ad id 1001", "br-ex.1001", vlan, []string{"VLAN 0", "VLAN 1001"}},
		"VLAN taken":    {"add link br-ex name taken type vlan id 1001", "br-ex.1001", vlan, []string{"EEXIST"}},
		"parent down":   {"set br-ex down", "br-ex.1001", vlan, []string{`"br-ex"`, "ENETDOWN"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newDeviceLab(t)
			l.ip("link " + test.command)
			before := l.state()
			err := l.Apply(context.Background(), makeStep(node.Device{Name: test.dev}, test.spec))
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range append(test.texts, test.dev) {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q lacks %q", err, text)
				}
			}
			if name == "parent down" {
				l.apply(makeStep(node.LinkUp{Dev: bridge}, present), makeStep(node.Device{Name: test.dev}, test.spec))
				return
			}
			l.expect(before)
		})
	}
}

func TestRemoveDevice(t *testing.T) {
	l := newDeviceLab(t)
	l.apply(makeStep(node.Device{Name: bgpVRF}, vrf), makeStep(node.Device{Name: bgpNIC}, dummy))
	before := l.state()
	l.apply(makeStep(node.Device{Name: "br-ex.1001"}, vlan), removeStep(node.Device{Name: "br-ex.1001"}, vlan))
	l.expect(before)
	l.apply(removeStep(node.Device{Name: "br-ex.1001"}, vlan))
	for name, spec := range map[string]node.DeviceSpec{bgpVRF: vrf, bgpNIC: dummy} {
		if err := l.Apply(context.Background(), removeStep(node.Device{Name: name}, spec)); err == nil {
			t.Errorf("%s could be removed", name)
		}
	}
	l.expect(before)
}

func TestVRFTableAbove255(t *testing.T) {
	l := newDeviceLab(t)
	l.scope.BGPVRFTable = 4001
	spec := vrf
	spec.Table = 4001
	before := l.state()
	l.apply(makeStep(node.Device{Name: bgpVRF}, spec))
	l.expect(plus(before, node.Device{Name: bgpVRF}, spec))
}

// TestKernelWithoutVRF: the error says what is missing.
func TestKernelWithoutVRF(t *testing.T) {
	l := newLab(t)
	err := l.Apply(context.Background(), makeStep(node.Device{Name: bgpVRF}, vrf))
	if err == nil {
		t.Skip("this kernel can make a VRF")
	}
	if !errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatal(err)
	}
	for _, text := range []string{"link bgp-vrf", "EOPNOTSUPP", `module "vrf"`, "linux-modules-extra", "kernel-modules-core"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}
