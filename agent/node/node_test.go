package node_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ovn-bgp-agent/agent/node"
)

var (
	host   = netip.MustParsePrefix("172.24.4.10/32")
	host6  = netip.MustParsePrefix("2001:db8::10/128")
	layout = node.Layout{
		BGPNIC: "bgp-nic", BGPVRF: "bgp-vrf", VRFTable: 10,
		Bridges: map[string]node.Bridge{"br-ex": {Present: true, MAC: "3a:f7:e9:54:e8:4d", Table: 201}},
		Tables:  map[uint32]string{201: "br-ex", 202: "br-old"},
	}
	onLink = node.RouteSpec{Dev: "br-ex", Scope: node.ScopeLink, Proto: node.ProtoBoot}
)

func vm(mac string) []node.Want {
	return []node.Want{
		{Key: node.Announcement{Prefix: host}, Value: node.Present{}},
		{Key: node.Route{Table: 201, Dst: host}, Value: onLink},
		{Key: node.Neighbour{Dev: "br-ex", IP: host.Addr()}, Value: mac},
		{Key: node.Rule{Dst: host, Table: 201}, Value: node.Present{}},
	}
}

func texts(steps []node.Step) []string {
	var list []string
	for _, s := range steps {
		list = append(list, s.Op.String()+" "+s.Key.String())
	}
	return list
}

func apply(actual node.State, results []node.Result) {
	for _, r := range results {
		switch {
		case r.Err != nil:
		case r.Step.Op == node.Remove:
			delete(actual, r.Step.Key)
		default:
			actual[r.Step.Key] = r.Step.Value
		}
	}
}

func TestAnnouncementIsMadeLastAndRemovedFirst(t *testing.T) {
	var desired node.Desired
	actual := node.State{}
	keys := desired.Set("vm1", vm("fa:16:3e:00:00:01"))
	up := node.Diff(actual, &desired, keys, layout.Recognise(actual))
	wantUp := []string{
		"make rule to 172.24.4.10/32 lookup 201 priority 32000",
		"make neigh 172.24.4.10 dev br-ex",
		"make route 172.24.4.10/32 table 201",
		"make announce 172.24.4.10/32",
	}
	if got := texts(up); !slices.Equal(got, wantUp) {
		t.Fatalf("made in the order\n%s", strings.Join(got, "\n"))
	}
	apply(actual, node.Execute(up, func(node.Step) error { return nil }))

	keys = desired.Set("vm1", nil)
	down := node.Diff(actual, &desired, keys, layout.Recognise(actual))
	slices.Reverse(wantUp)
	for i := range wantUp {
		wantUp[i] = strings.Replace(wantUp[i], "make", "remove", 1)
	}
	if got := texts(down); !slices.Equal(got, wantUp) {
		t.Fatalf("removed in the order\n%s", strings.Join(got, "\n"))
	}
}

func TestObjectStaysUntilItsLastOwnerGoes(t *testing.T) {
	var desired node.Desired
	desired.Set("vm1", vm("fa:16:3e:00:00:01"))
	desired.Set("vm2", vm("fa:16:3e:00:00:01"))
	actual := node.State{}
	for _, w := range vm("fa:16:3e:00:00:01") {
		actual[w.Key] = w.Value
	}
	keys := desired.Set("vm1", nil)
	if steps := node.Diff(actual, &desired, keys, layout.Recognise(actual)); len(steps) != 0 {
		t.Errorf("the first owner's end changes %v", texts(steps))
	}
	keys = desired.Set("vm2", nil)
	if steps := node.Diff(actual, &desired, keys, layout.Recognise(actual)); len(steps) != 4 {
		t.Errorf("the last owner's end changes %v", texts(steps))
	}
}

func TestLowestOwnerWinsAConflict(t *testing.T) {
	var desired node.Desired
	desired.Set("vm2", vm("fa:16:3e:00:00:02"))
	keys := desired.Set("vm1", vm("fa:16:3e:00:00:01"))
	neighbour := node.Neighbour{Dev: "br-ex", IP: host.Addr()}
	if mac, _ := desired.Value(neighbour); mac != "fa:16:3e:00:00:01" {
		t.Errorf("the neighbour is %v", mac)
	}
	conflicts := desired.Conflicts(keys)
	if len(conflicts) != 1 || conflicts[0].Key != node.Key(neighbour) || conflicts[0].Other != "vm2" {
		t.Errorf("conflicts %v", conflicts)
	}
	desired.Set("vm1", nil)
	if mac, _ := desired.Value(neighbour); mac != "fa:16:3e:00:00:02" {
		t.Errorf("after the first owner the neighbour is %v", mac)
	}
}

func TestExecuteStopsOnlyWhatDepends(t *testing.T) {
	var desired node.Desired
	keys := desired.Set("vm1", vm("fa:16:3e:00:00:01"))
	keys = append(keys, desired.Set("vm2", []node.Want{
		{Key: node.Rule{Dst: host6, Table: 201}, Value: node.Present{}},
		{Key: node.Announcement{Prefix: host6}, Value: node.Present{}},
	})...)
	actual := node.State{}
	refused := errors.New("refused")
	results := node.Execute(node.Diff(actual, &desired, keys, layout.Recognise(actual)), func(s node.Step) error {
		if s.Key.Kind() == node.KindNeighbour {
			return refused
		}
		return nil
	})
	for _, r := range results {
		var want error
		switch {
		case r.Step.Key.Kind() == node.KindNeighbour:
			want = refused
		case r.Step.Key == node.Key(node.Announcement{Prefix: host}):
			want = node.ErrSkipped
		}
		if !errors.Is(r.Err, want) || (want == nil) != (r.Err == nil) {
			t.Errorf("%s: %v, want %v", r.Step.Key, r.Err, want)
		}
	}
}

func TestExecuteKeepsTheWiringOfWhatIsStillAnnounced(t *testing.T) {
	var desired node.Desired
	actual := node.State{}
	for _, w := range vm("fa:16:3e:00:00:01") {
		actual[w.Key] = w.Value
	}
	stuck := errors.New("stuck")
	steps := node.Diff(actual, &desired, node.AllKeys(actual, &desired), layout.Recognise(actual))
	results := node.Execute(steps, func(s node.Step) error {
		if s.Key.Kind() == node.KindAnnouncement {
			return stuck
		}
		return nil
	})
	for _, r := range results {
		if !errors.Is(r.Err, stuck) {
			t.Errorf("%s: %v", r.Step.Key, r.Err)
		}
	}
}

func TestRecognise(t *testing.T) {
	device := func(name string, vlan uint16) (node.Key, node.Value) {
		return node.Device{Name: name}, node.DeviceSpec{Type: "vlan", Parent: "br-ex", VLAN: vlan, Up: true}
	}
	actual := node.State{
		node.Rule{Dst: host, Table: 201}:                                node.Present{},
		node.Rule{Dst: host6, Table: 201}:                               node.Present{},
		node.Address{Dev: "br-ex.100", Prefix: node.ARPAddress(1, 100)}: node.Present{},
	}
	marked, markedSpec := device("br-ex.100", 100)
	unmarked, unmarkedSpec := device("br-ex.77", 77)
	misnamed, misnamedSpec := device("vlan77", 77)
	actual[marked], actual[unmarked], actual[misnamed] = markedSpec, unmarkedSpec, misnamedSpec

	for _, c := range []struct {
		name  string
		key   node.Key
		value node.Value
		ours  bool
	}{
		{"announcement", node.Announcement{Prefix: host}, node.Present{}, true},
		{"rule to a mapped bridge's table", node.Rule{Dst: host, Table: 201}, node.Present{}, true},
		{"rule to the table of a bridge mapped once", node.Rule{Dst: host, Table: 202}, node.Present{}, true},
		{"rule to another table", node.Rule{Dst: host, Table: 99}, node.Present{}, false},
		{"rule to the VRF's table", node.Rule{Dst: host, Table: 10}, node.Present{}, false},
		{"route, proto boot", node.Route{Table: 201, Dst: host}, onLink, true},
		{"route, proto static", node.Route{Table: 201, Dst: host}, node.RouteSpec{Dev: "br-ex", Proto: 4}, false},
		{"prefix route on bgp-nic", node.Route{Table: 10, Dst: host}, node.RouteSpec{Dev: "bgp-nic", Proto: 3}, true},
		{"another route of the VRF", node.Route{Table: 10, Dst: host}, node.RouteSpec{Dev: "eth1", Proto: 3}, false},
		{"neighbour with a rule", node.Neighbour{Dev: "br-ex", IP: host.Addr()}, "fa:16:3e:00:00:01", true},
		{"neighbour without a rule", node.Neighbour{Dev: "br-ex", IP: netip.MustParseAddr("172.24.4.99")}, "fa:16:3e:00:00:01", false},
		{"neighbour elsewhere", node.Neighbour{Dev: "eth0", IP: host.Addr()}, "fa:16:3e:00:00:01", false},
		{"proxy of an exposed address's network", node.Proxy{Dev: "br-ex.100", IP: netip.MustParseAddr("2001:db8::")}, node.Present{}, true},
		{"proxy of the address itself", node.Proxy{Dev: "br-ex", IP: host6.Addr()}, node.Present{}, false},
		{"proxy of another network", node.Proxy{Dev: "br-ex", IP: netip.MustParseAddr("2001:db8:1::")}, node.Present{}, false},
		{"ARP address", node.Address{Dev: "br-ex", Prefix: node.ARPAddress(3, 3)}, node.Present{}, true},
		{"operator's address", node.Address{Dev: "br-ex", Prefix: netip.MustParsePrefix("172.24.4.1/24")}, node.Present{}, false},
		{"marked VLAN device", marked, markedSpec, true},
		{"VLAN device without a mark", unmarked, unmarkedSpec, false},
		{"VLAN device of another name", misnamed, misnamedSpec, false},
		{"flow on a mapped bridge", node.Flow{Bridge: "br-ex", Priority: 1000, Match: "ip"}, "NORMAL", true},
		{"flow elsewhere", node.Flow{Bridge: "br-int", Priority: 900, Match: "ip"}, "NORMAL", false},
		{"rt_tables line", node.RTTable{Name: "br-ex"}, uint32(201), false},
		{"parameter", node.SysctlKey("ipv4", "br-ex", "proxy_arp"), "1", false},
	} {
		if got := layout.Recognise(actual)(c.key, c.value); got != c.ours {
			t.Errorf("%s: recognised as the agent's own: %v", c.name, got)
		}
	}
}

func TestDeviceOrder(t *testing.T) {
	var desired node.Desired
	keys := desired.Set("base", []node.Want{
		{Key: node.Device{Name: "bgp-nic"}, Value: node.DeviceSpec{Type: "dummy", Master: "bgp-vrf", Up: true}},
		{Key: node.Device{Name: "bgp-vrf"}, Value: node.DeviceSpec{Type: "vrf", Table: 10, Up: true}},
	})
	got := texts(node.Diff(node.State{}, &desired, keys, layout.Recognise(nil)))
	if want := []string{"make link bgp-vrf", "make link bgp-nic"}; !slices.Equal(got, want) {
		t.Errorf("devices are made in the order %v", got)
	}
}

func TestAddressesAndNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{node.ARPAddress(1, 1).String(), "169.254.1.1/32"},
		{node.ARPAddress(1, 1001).String(), "169.254.1.233/32"},
		{node.NDPAddress(1, 1).String(), "fd53:d91e:400:7f17::1:1/128"},
		{node.NDPAddress(1, 1001).String(), "fd53:d91e:400:7f17::1:e9/128"},
		{node.VLANDevice("br-ex", 1001), "br-ex.1001"},
		{node.VLANDevice("br-provider", 1001), "br-provide.1001"},
		{node.SysctlKey("ipv4", "br-ex.1001", "proxy_arp").Key, "net.ipv4.conf.br-ex/1001.proxy_arp"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
