package wiring_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/wiring"
)

var names = wiring.Names{BGPNIC: "bgp-nic", BGPVRF: "bgp-vrf", VRFTable: 10}

func mapping(position int, physnet, bridge string, vlans ...uint16) exposure.BaseMapping {
	return exposure.BaseMapping{Mapping: exposure.Mapping{Position: position, Physnet: physnet, Bridge: bridge}, VLANs: vlans}
}

func facts(bridges ...string) node.Facts {
	f := node.Facts{Links: map[string]node.Link{}, RTTables: map[string]uint32{}, UsedTables: map[uint32]struct{}{}}
	for _, b := range bridges {
		f.Links[b] = node.Link{MAC: "3a:f7:e9:54:e8:4d"}
	}
	return f
}

func texts(wants []node.Want) []string {
	var list []string
	for _, w := range wants {
		text := w.Key.String()
		if w.Value != (node.Present{}) {
			text += fmt.Sprintf(" = %v", w.Value)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func TestTablesOfBridges(t *testing.T) {
	full := facts("br-ex")
	for n := uint32(1); n <= 252; n++ {
		full.UsedTables[n] = struct{}{}
	}
	for _, c := range []struct {
		name   string
		facts  node.Facts
		table  uint32
		reason string
	}{
		{"listed", func() node.Facts { f := facts("br-ex"); f.RTTables["br-ex"] = 201; return f }(), 201, ""},
		{"lowest that is free in file and kernel", func() node.Facts {
			f := facts("br-ex")
			f.UsedTables[1], f.UsedTables[2] = struct{}{}, struct{}{}
			return f
		}(), 3, ""},
		{"never that of the VRF", func() node.Facts {
			f := facts("br-ex")
			for n := uint32(1); n < 10; n++ {
				f.UsedTables[n] = struct{}{}
			}
			return f
		}(), 11, ""},
		{"none left", full, 0, "No more routing tables available for bridge br-ex"},
		{"listed with the VRF's", func() node.Facts { f := facts("br-ex"); f.RTTables["br-ex"] = 10; return f }(), 0, "bgp_vrf_table_id"},
		{"no device", facts(), 0, "has no device in the kernel"},
	} {
		layout, problems := wiring.Plan(names, c.facts, exposure.Base{Mappings: []exposure.BaseMapping{mapping(1, "public", "br-ex")}})
		bridge := layout.Bridges["br-ex"]
		if bridge.Table != c.table || !strings.Contains(bridge.Reason, c.reason) || (c.reason == "") != (len(problems) == 0) {
			t.Errorf("%s: %+v, problems %v", c.name, bridge, problems)
		}
	}
}

func TestTwoBridgesGetTwoTables(t *testing.T) {
	layout, _ := wiring.Plan(names, facts("br-ex", "br-two"), exposure.Base{Mappings: []exposure.BaseMapping{
		mapping(1, "public", "br-ex"), mapping(2, "two", "br-two"), mapping(3, "three", "br-ex"),
	}})
	if a, b := layout.Bridges["br-ex"].Table, layout.Bridges["br-two"].Table; a != 1 || b != 2 {
		t.Errorf("tables %d and %d", a, b)
	}
}

func TestProblemsOfTheNode(t *testing.T) {
	f := facts("br-ex")
	f.Forwarding = map[string]bool{"net.ipv4.ip_forward": false, "net.ipv6.conf.all.forwarding": true}
	_, problems := wiring.Plan(names, f, exposure.Base{Malformed: []string{"public"}})
	if len(problems) != 2 || problems[0].Text != "Incorrect bridge mapping settings: public" || !strings.HasPrefix(problems[1].Text, "net.ipv4.ip_forward is 0") {
		t.Errorf("problems %q", problems)
	}
}

// side-effects.md §8.1 and §8.2, the parts that the base wiring makes.
func TestBase(t *testing.T) {
	base := exposure.Base{
		Mappings: []exposure.BaseMapping{mapping(1, "public", "br-ex", 1001), mapping(2, "gone", "br-gone")},
		Patches:  []exposure.Patch{{Bridge: "br-ex", Name: "patch-provnet-n1-to-br-int", OFPort: 1}},
	}
	f := facts("br-ex")
	f.RTTables["br-ex"] = 201
	layout, _ := wiring.Plan(names, f, base)
	want := []string{
		"addr 169.254.1.1/32 dev br-ex",
		"addr 169.254.1.233/32 dev br-ex.1001",
		"addr fd53:d91e:400:7f17::1:1/128 dev br-ex",
		"addr fd53:d91e:400:7f17::1:e9/128 dev br-ex.1001",
		"flow br-ex cookie=999,priority=900,ip,in_port=1 = mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL",
		"flow br-ex cookie=999,priority=900,ipv6,in_port=1 = mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL",
		"link bgp-nic = {dummy 0  0 bgp-vrf true}",
		"link bgp-vrf = {vrf 10  0  true}",
		"link br-ex up",
		"link br-ex.1001 = {vlan 0 br-ex 1001  true}",
		"route 0.0.0.0/0 table 201 = {br-ex invalid IP 253 3}",
		"route ::/0 table 201 = {br-ex invalid IP 0 3}",
		"rt_tables br-ex = 201",
		"sysctl net.ipv4.conf.br-ex.proxy_arp = 1",
		"sysctl net.ipv4.conf.br-ex/1001.proxy_arp = 1",
		"sysctl net.ipv6.conf.br-ex.proxy_ndp = 1",
		"sysctl net.ipv6.conf.br-ex/1001.proxy_ndp = 1",
	}
	if got := texts(wiring.Base(layout, base)); !slices.Equal(got, want) {
		t.Errorf("base wiring:\n%s", strings.Join(got, "\n"))
	}
	if got := wiring.Sysctls(base); len(got) != 6 {
		t.Errorf("parameters to read: %q", got)
	}
}

// side-effects.md §8.1 and §8.2, the parts that an address adds.
func TestProvider(t *testing.T) {
	f := facts("br-provider")
	f.RTTables["br-provider"] = 201
	layout, _ := wiring.Plan(names, f, exposure.Base{Mappings: []exposure.BaseMapping{mapping(1, "public", "br-provider")}})
	decision := func(ip, mac string, vlan uint16, proxies ...netip.Addr) exposure.Decision {
		return exposure.Decision{IP: netip.MustParseAddr(ip), MAC: mac, Bridge: "br-provider", VLAN: vlan, OFPort: 7, ProxyNetworks: proxies}
	}
	const devices, flows = "link bgp-nic = {dummy 0  0 bgp-vrf true}\nlink bgp-vrf = {vrf 10  0  true}", "flow br-provider cookie=999,priority=900,ip,in_port=7 = mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL\n" +
		"flow br-provider cookie=999,priority=900,ipv6,in_port=7 = mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL"
	for _, c := range []struct {
		name     string
		decision exposure.Decision
		want     string
	}{
		{"flat IPv4", decision("172.24.4.10", "fa:16:3e:7d:50:ad", 0), `announce 172.24.4.10/32
` + flows + "\n" + devices + `
neigh 172.24.4.10 dev br-provider = fa:16:3e:7d:50:ad
route 172.24.4.10/32 table 201 = {br-provider invalid IP 253 3}
rule to 172.24.4.10/32 lookup 201 priority 32000`},
		{"VLAN IPv6 on a bridge with a long name", decision("2001:db8::10", "fa:16:3e:7d:50:ad", 1001, netip.MustParseAddr("2001:db8::")), `announce 2001:db8::10/128
` + flows + "\n" + devices + `
link br-provide.1001 = {vlan 0 br-provider 1001  true}
neigh 2001:db8::10 dev br-provide.1001 = fa:16:3e:7d:50:ad
neigh proxy 2001:db8:: dev br-provide.1001
route 2001:db8::10/128 table 201 = {br-provide.1001 invalid IP 0 3}
rule to 2001:db8::10/128 lookup 201 priority 32000`},
		{"without a MAC", decision("172.24.4.10", "", 0), `announce 172.24.4.10/32
` + flows + "\n" + devices + `
route 172.24.4.10/32 table 201 = {br-provider invalid IP 253 3}
rule to 172.24.4.10/32 lookup 201 priority 32000`},
	} {
		wants, reason := wiring.Provider(layout, c.decision)
		if got := strings.Join(texts(wants), "\n"); reason != nil || got != c.want {
			t.Errorf("%s (reason %v):\n%s", c.name, reason, got)
		}
	}
	missing := decision("172.24.4.10", "", 0)
	missing.Bridge = "br-gone"
	layout.Bridges["br-gone"] = node.Bridge{Reason: "it is gone"}
	if wants, reason := wiring.Provider(layout, missing); wants != nil || reason == nil || reason.Code != exposure.NoBridge || reason.Text != "it is gone" {
		t.Errorf("without a bridge: %v, reason %v", wants, reason)
	}
}
