package exposure

import (
	"slices"
	"strings"

	"ovn-bgp-agent/agent/ovsdb"
)

// Identity is what the local Open_vSwitch database says of this node
// (config.md §3).
type Identity struct {
	Hostname string // external_ids:hostname, "" if unset
	SystemID string // external_ids:system-id, "" if unset
	SBRemote string // external_ids:ovn-remote
	NBRemote string // external_ids:ovn-nb-remote
}

// NodeIdentity reads the node's identity.
func NodeIdentity(v *ovsdb.View) Identity {
	ids := rootExternalIDs(v)
	return Identity{ids["hostname"], ids["system-id"], ids["ovn-remote"], ids["ovn-nb-remote"]}
}

func rootExternalIDs(v *ovsdb.View) map[string]string {
	root, ok := ovsdb.First(v, ovsdb.OpenVSwitchRows, ovsdb.Root, "")
	if !ok {
		return nil
	}
	return root.ExternalIDs
}

// Mapping is one entry of external_ids:ovn-bridge-mappings.
type Mapping struct {
	Position int // counted from 1; malformed entries count (config.md §7, C11)
	Physnet  string
	Bridge   string
}

// parseMappings reads "network:bridge[,network:bridge…]"; entries without exactly
// one colon are returned apart.
func parseMappings(text string) (mappings []Mapping, malformed []string) {
	if text == "" {
		return nil, nil
	}
	for i, entry := range strings.Split(text, ",") {
		entry = strings.TrimSpace(entry)
		physnet, bridge, _ := strings.Cut(entry, ":")
		if physnet == "" || bridge == "" || strings.Contains(bridge, ":") {
			malformed = append(malformed, entry)
			continue
		}
		mappings = append(mappings, Mapping{i + 1, physnet, bridge})
	}
	return mappings, malformed
}

// bridgeOf is the bridge that a physical network is mapped to.
func bridgeOf(mappings []Mapping, physnet string) (string, bool) {
	i := slices.IndexFunc(mappings, func(m Mapping) bool { return m.Physnet == physnet })
	if i < 0 {
		return "", false
	}
	return mappings[i].Bridge, true
}

func nodeMappings(v *ovsdb.View) ([]Mapping, []string) {
	return parseMappings(rootExternalIDs(v)["ovn-bridge-mappings"])
}

// patchPrefix begins the name of the patch port of a Neutron localnet port.
const patchPrefix = "patch-provnet-"

// patchPort is the name of the patch port that ovn-controller makes on a
// provider bridge for a localnet port (ovn-controller(8)).
func patchPort(localnet string) string { return "patch-" + localnet + "-to-br-int" }

// patchOFPort looks up the OpenFlow port of a network's patch port; the reason
// is set when there is none to be used.
func patchOFPort(v *ovsdb.View, localnet string) (int, *Reason) {
	name := patchPort(localnet)
	iface, ok := ovsdb.First(v, ovsdb.Interfaces, ovsdb.InterfaceByName, name)
	switch {
	case !ok:
		r := reason(NoPatchPort, "patch port %s does not exist in Open vSwitch", name)
		return 0, &r
	case iface.OFPort == 0:
		r := reason(NoPatchPort, "patch port %s has no ofport", name)
		return 0, &r
	case iface.OFPort < 0:
		r := reason(NoPatchPort, "patch port %s has ofport %d: Open vSwitch could not make it", name, iface.OFPort)
		return 0, &r
	}
	return iface.OFPort, nil
}

// Patch is a patch port of a provider network that the switch has made.
type Patch struct {
	Bridge string
	Name   string
	OFPort int
}

// patchPorts lists the usable patch-provnet ports of a bridge by name.
func patchPorts(v *ovsdb.View, bridge string) []Patch {
	row, ok := ovsdb.First(v, ovsdb.Bridges, ovsdb.BridgeByName, bridge)
	if !ok {
		return nil
	}
	var patches []Patch
	for _, uuid := range row.Ports {
		port, ok := ovsdb.Get(v, ovsdb.Ports, uuid)
		if !ok || !strings.HasPrefix(port.Name, patchPrefix) {
			continue
		}
		iface, ok := ovsdb.First(v, ovsdb.Interfaces, ovsdb.InterfaceByName, port.Name)
		if ok && iface.OFPort > 0 {
			patches = append(patches, Patch{bridge, port.Name, iface.OFPort})
		}
	}
	slices.SortFunc(patches, func(a, b Patch) int { return strings.Compare(a.Name, b.Name) })
	return patches
}

func vlanID(localnet string, tag int) (uint16, *Reason) {
	if tag < 0 || tag > 4094 {
		r := reason(BadTag, "localnet port %s has tag %d, which is no VLAN id", localnet, tag)
		return 0, &r
	}
	return uint16(tag), nil
}
