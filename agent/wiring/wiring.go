// Package wiring turns decisions into the node state that carries them, for the
// exposing method "underlay" (nb-driver.md §9.1, §11.2). Everything here is pure.
package wiring

import (
	"fmt"
	"net/netip"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/openflow"
)

// BaseOwner owns the base wiring.
const BaseOwner node.Owner = "base"

// Names are the configured devices of the announcing side (config.md §2.1).
type Names struct {
	BGPNIC   string // bgp_nic
	BGPVRF   string // bgp_vrf
	VRFTable uint32 // bgp_vrf_table_id
}

// Problem is something about the node that keeps some of the wiring from being
// done; Name is stable, Text is for people.
type Problem struct{ Name, Text string }

var (
	defaultIPv4 = netip.MustParsePrefix("0.0.0.0/0")
	defaultIPv6 = netip.MustParsePrefix("::/0")
)

// maxTable is the highest routing table number given to a bridge
// (side-effects.md §2.4).
const maxTable = 252

// Plan lays out the node: which bridges can be used, with which tables. A bridge
// takes the number that rt_tables has for it, else the lowest that neither the
// file nor the kernel uses.
func Plan(names Names, facts node.Facts, base exposure.Base) (node.Layout, []Problem) {
	layout := node.Layout{
		BGPNIC: names.BGPNIC, BGPVRF: names.BGPVRF, VRFTable: names.VRFTable,
		Bridges: map[string]node.Bridge{}, Tables: map[uint32]string{},
	}
	problems := append(malformed(base.Malformed), forwarding(facts)...)
	taken := map[uint32]struct{}{names.VRFTable: {}}
	for table := range facts.UsedTables {
		taken[table] = struct{}{}
	}
	for _, m := range base.Mappings {
		if _, done := layout.Bridges[m.Bridge]; done {
			continue
		}
		bridge := planBridge(m.Bridge, names, facts, taken)
		layout.Bridges[m.Bridge] = bridge
		if bridge.Reason != "" {
			problems = append(problems, Problem{"bridge " + m.Bridge, bridge.Reason})
		}
	}
	for _, name := range base.Bridges {
		if table, ok := facts.RTTables[name]; ok && table != names.VRFTable {
			layout.Tables[table] = name
		}
	}
	return layout, problems
}

func malformed(entries []string) []Problem {
	var problems []Problem
	for _, entry := range entries {
		text := fmt.Sprintf("Incorrect bridge mapping settings: %s", entry)
		problems = append(problems, Problem{"ovn-bridge-mappings entry " + entry, text})
	}
	return problems
}

// forwarding: a node that does not forward announces what it cannot deliver; with
// this exposing method the operator must switch forwarding on (config.md §6.2).
func forwarding(facts node.Facts) []Problem {
	var problems []Problem
	for parameter, on := range facts.Forwarding {
		if !on {
			problems = append(problems, Problem{"forwarding " + parameter, parameter + " is 0: this node will not forward packets to what it announces"})
		}
	}
	return problems
}

func planBridge(name string, names Names, facts node.Facts, taken map[uint32]struct{}) node.Bridge {
	link, present := facts.Links[name]
	bridge := node.Bridge{Present: present, MAC: link.MAC}
	table, listed := facts.RTTables[name]
	if !listed {
		table = lowestFree(taken)
		taken[table] = struct{}{}
	}
	switch {
	case !present:
		bridge.Reason = fmt.Sprintf("bridge %s has no device in the kernel; the agent never makes one", name)
	case table == 0:
		bridge.Reason = fmt.Sprintf("No more routing tables available for bridge %s at /etc/iproute2/rt_tables", name)
	case table == names.VRFTable:
		bridge.Reason = fmt.Sprintf("rt_tables gives bridge %s the table %d, which is bgp_vrf_table_id", name, table)
	default:
		bridge.Table = table
	}
	return bridge
}

// lowestFree is the lowest table number that is not taken; 0 when there is none.
func lowestFree(taken map[uint32]struct{}) uint32 {
	for table := uint32(1); table <= maxTable; table++ {
		if _, used := taken[table]; !used {
			return table
		}
	}
	return 0
}

// Base lists the objects of the base wiring: the announcing devices; per mapped
// bridge its table, default routes and flows; per bridge and VLAN the addresses
// and parameters with which it answers ARP and NDP.
func Base(layout node.Layout, base exposure.Base) []node.Want {
	wants := announcingDevices(layout)
	for _, m := range base.Mappings {
		if layout.Bridges[m.Bridge].Table == 0 {
			continue
		}
		wants = append(wants, bridgeWants(layout, m.Bridge)...)
		wants = append(wants, answering(m.Bridge, m.Position, m.Position)...)
		for _, vlan := range m.VLANs {
			dev := node.VLANDevice(m.Bridge, vlan)
			wants = append(wants, vlanDevice(m.Bridge, vlan))
			wants = append(wants, answering(dev, m.Position, int(vlan))...)
		}
	}
	for _, p := range base.Patches {
		if b := layout.Bridges[p.Bridge]; b.Table != 0 {
			wants = append(wants, tweakFlows(p.Bridge, p.OFPort, b.MAC)...)
		}
	}
	return wants
}

func announcingDevices(layout node.Layout) []node.Want {
	return []node.Want{
		{Key: node.Device{Name: layout.BGPVRF}, Value: node.DeviceSpec{Type: "vrf", Table: layout.VRFTable, Up: true}},
		{Key: node.Device{Name: layout.BGPNIC}, Value: node.DeviceSpec{Type: "dummy", Master: layout.BGPVRF, Up: true}},
	}
}

func bridgeWants(layout node.Layout, bridge string) []node.Want {
	table := layout.Bridges[bridge].Table
	return []node.Want{
		{Key: node.RTTable{Name: bridge}, Value: table},
		{Key: node.LinkUp{Dev: bridge}, Value: node.Present{}},
		{Key: node.Route{Table: table, Dst: defaultIPv4}, Value: node.RouteSpec{Dev: bridge, Scope: node.ScopeLink, Proto: node.ProtoBoot}},
		{Key: node.Route{Table: table, Dst: defaultIPv6, Metric: node.MetricIPv6}, Value: node.RouteSpec{Dev: bridge, Proto: node.ProtoBoot}},
	}
}

func vlanDevice(bridge string, vlan uint16) node.Want {
	return node.Want{
		Key:   node.Device{Name: node.VLANDevice(bridge, vlan)},
		Value: node.DeviceSpec{Type: "vlan", Parent: bridge, VLAN: vlan, Up: true},
	}
}

// answering makes a device answer ARP requests and neighbour solicitations.
func answering(dev string, position, id int) []node.Want {
	return []node.Want{
		{Key: node.Address{Dev: dev, Prefix: node.ARPAddress(position, id)}, Value: node.Present{}},
		{Key: node.Address{Dev: dev, Prefix: node.NDPAddress(position, id)}, Value: node.Present{}},
		{Key: node.SysctlKey("ipv4", dev, "proxy_arp"), Value: "1"},
		{Key: node.SysctlKey("ipv6", dev, "proxy_ndp"), Value: "1"},
	}
}

// Sysctls lists the kernel parameters of the base wiring in the syntax of
// sysctl(8).
func Sysctls(base exposure.Base) []string {
	var keys []string
	for _, m := range base.Mappings {
		devices := []string{m.Bridge}
		for _, vlan := range m.VLANs {
			devices = append(devices, node.VLANDevice(m.Bridge, vlan))
		}
		for _, dev := range devices {
			for _, want := range answering(dev, m.Position, 0) {
				if parameter, ok := want.Key.(node.Sysctl); ok {
					keys = append(keys, parameter.Key)
				}
			}
		}
	}
	return keys
}

func tweakFlows(bridge string, ofport int, mac string) []node.Want {
	var wants []node.Want
	for _, v6 := range []bool{false, true} {
		flow, actions := openflow.Tweak(bridge, ofport, v6, mac)
		wants = append(wants, node.Want{Key: flow, Value: actions})
	}
	return wants
}

// Provider lists the objects that carry an exposed address of a provider network,
// the announcement among them. The reason is set when the node cannot carry it
// now.
func Provider(layout node.Layout, d exposure.Decision) ([]node.Want, *exposure.Reason) {
	bridge := layout.Bridges[d.Bridge]
	if bridge.Table == 0 {
		return nil, &exposure.Reason{Code: exposure.NoBridge, Text: bridge.Reason}
	}
	wants := announcingDevices(layout)
	dev := d.Bridge
	if d.VLAN != 0 {
		dev = node.VLANDevice(d.Bridge, d.VLAN)
		wants = append(wants, vlanDevice(d.Bridge, d.VLAN))
	}
	wants = append(wants, ingress(bridge.Table, dev, d)...)
	wants = append(wants, tweakFlows(d.Bridge, d.OFPort, bridge.MAC)...)
	return append(wants, node.Want{Key: node.Announcement{Prefix: d.Prefix()}, Value: node.Present{}}), nil
}

// ingress leads packets to the address out of a device.
func ingress(table uint32, dev string, d exposure.Decision) []node.Want {
	prefix := d.Prefix()
	route := node.Route{Table: table, Dst: prefix}
	spec := node.RouteSpec{Dev: dev, Proto: node.ProtoBoot}
	if d.IP.Is6() {
		route.Metric = node.MetricIPv6
	} else {
		spec.Scope = node.ScopeLink
	}
	wants := []node.Want{
		{Key: node.Rule{Dst: prefix, Table: table}, Value: node.Present{}},
		{Key: route, Value: spec},
	}
	if d.MAC != "" {
		wants = append(wants, node.Want{Key: node.Neighbour{Dev: dev, IP: d.IP}, Value: d.MAC})
	}
	for _, network := range d.ProxyNetworks {
		wants = append(wants, node.Want{Key: node.Proxy{Dev: dev, IP: network}, Value: node.Present{}})
	}
	return wants
}
