package exposure

import (
	"cmp"
	"slices"

	"ovn-bgp-agent/agent/ovsdb"
)

// Network is what a logical switch (Northbound) or datapath (Southbound) is to
// this node.
type Network struct {
	Provider bool   // it has a localnet port
	Localnet string // name of the localnet port that is mapped here, "" if none is
	Physnet  string // its physical network
	Bridge   string // the bridge that it is mapped to, "" if none
	VLAN     uint16
	Reason   Reason // why a provider network cannot be used here
}

// localnet is a localnet port of either database.
type localnet struct {
	name, physnet string
	tag           int
}

// chooseLocalnet takes, of a network's localnet ports, the one whose physical
// network is mapped here (nb-driver.md §17.4 F-21); of several, the first by name.
func chooseLocalnet(ports []localnet, mappings []Mapping) Network {
	if len(ports) == 0 {
		return Network{}
	}
	slices.SortFunc(ports, func(a, b localnet) int { return cmp.Compare(a.name, b.name) })
	for _, p := range ports {
		bridge, mapped := bridgeOf(mappings, p.physnet)
		if !mapped {
			continue
		}
		vlan, bad := vlanID(p.name, p.tag)
		if bad != nil {
			return Network{Provider: true, Localnet: p.name, Physnet: p.physnet, Reason: *bad}
		}
		return Network{Provider: true, Localnet: p.name, Physnet: p.physnet, Bridge: bridge, VLAN: vlan}
	}
	return Network{Provider: true, Physnet: ports[0].physnet, Reason: reason(NotMapped,
		"physical network %q is not in ovn-bridge-mappings of this node", ports[0].physnet)}
}

// Base is what the base wiring of the node needs to know (nb-driver.md §9.1).
type Base struct {
	Mappings  []BaseMapping
	Malformed []string // entries of ovn-bridge-mappings that are none
	Patches   []Patch
	Bridges   []string // every bridge of Open vSwitch
}

// BaseMapping is a bridge mapping with the VLANs that its physical network uses.
type BaseMapping struct {
	Mapping
	VLANs []uint16
}

// deriveBase reads the base facts; localnets lists the localnet ports of a
// physical network.
func deriveBase(v *ovsdb.View, localnets func(physnet string) []localnet) Base {
	mappings, malformed := nodeMappings(v)
	base := Base{Malformed: malformed}
	for _, m := range mappings {
		base.Mappings = append(base.Mappings, BaseMapping{m, vlansOf(localnets(m.Physnet))})
	}
	for _, bridge := range bridgesOf(mappings) {
		base.Patches = append(base.Patches, patchPorts(v, bridge)...)
	}
	for _, b := range ovsdb.Find(v, ovsdb.Bridges, ovsdb.AnyBridge, "") {
		base.Bridges = append(base.Bridges, b.Name)
	}
	slices.Sort(base.Bridges)
	return base
}

func vlansOf(ports []localnet) []uint16 {
	var vlans []uint16
	for _, p := range ports {
		if vlan, bad := vlanID(p.name, p.tag); bad == nil && vlan != 0 && !slices.Contains(vlans, vlan) {
			vlans = append(vlans, vlan)
		}
	}
	slices.Sort(vlans)
	return vlans
}

// bridgesOf lists each mapped bridge once, in the order of the mappings.
func bridgesOf(mappings []Mapping) []string {
	var bridges []string
	for _, m := range mappings {
		if !slices.Contains(bridges, m.Bridge) {
			bridges = append(bridges, m.Bridge)
		}
	}
	return bridges
}
