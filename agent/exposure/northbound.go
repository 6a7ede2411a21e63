package exposure

import (
	"net/netip"
	"slices"
	"strings"

	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/ovsdb"
)

// Northbound is the driver nb_ovn_bgp_driver (nb-driver.md).
func Northbound(s Settings) Driver {
	return Driver{
		Database:  ovsdb.Northbound,
		PortTable: "Logical_Switch_Port",
		Network:   switchNetwork,
		Base: func(v *ovsdb.View) Base {
			return deriveBase(v, func(physnet string) []localnet { return switchLocalnets(v, physnet, nil) })
		},
		Port: func(v *ovsdb.View, uuid string, network func(string) Network) []Decision {
			return switchPort(v, s, uuid, network)
		},
	}
}

// switchLocalnets lists the localnet ports of a physical network; of one switch,
// if it is given.
func switchLocalnets(v *ovsdb.View, physnet string, of *ovsdb.LogicalSwitch) []localnet {
	var ports []localnet
	for _, p := range ovsdb.Find(v, ovsdb.LogicalSwitchPorts, ovsdb.LocalnetByNetworkName, physnet) {
		if of != nil {
			if _, member := of.Ports[p.UUID]; !member {
				continue
			}
		}
		ports = append(ports, localnet{p.Name, physnet, p.Tag})
	}
	return ports
}

// switchNetwork finds the localnet port of a logical switch.
func switchNetwork(v *ovsdb.View, name string) Network {
	ls, ok := ovsdb.First(v, ovsdb.LogicalSwitches, ovsdb.LogicalSwitchByName, name)
	if !ok {
		return Network{}
	}
	mappings, _ := nodeMappings(v)
	var ports []localnet
	for _, m := range mappings {
		ports = append(ports, switchLocalnets(v, m.Physnet, ls)...)
	}
	if len(ports) == 0 {
		ports = unmappedLocalnets(v, ls)
	}
	return chooseLocalnet(ports, mappings)
}

// unmappedLocalnets lists the localnet ports of a switch, none of which is of a
// mapped physical network.
func unmappedLocalnets(v *ovsdb.View, ls *ovsdb.LogicalSwitch) []localnet {
	var ports []localnet
	for _, p := range ovsdb.Find(v, ovsdb.LogicalSwitchPorts, ovsdb.AnyLocalnet, "") {
		if _, member := ls.Ports[p.UUID]; member {
			ports = append(ports, localnet{p.Name, p.Options["network_name"], p.Tag})
		}
	}
	return ports
}

// switchPort decides about a VM or virtual port on a provider network
// (nb-driver.md §12.1).
func switchPort(v *ovsdb.View, s Settings, uuid string, network func(string) Network) []Decision {
	p, ok := ovsdb.Get(v, ovsdb.LogicalSwitchPorts, uuid)
	if !ok || (p.Type != "" && p.Type != "virtual") {
		return nil
	}
	place := placePort(p, NodeIdentity(v), s.Hostname)
	if place == elsewhere {
		return nil
	}
	about := Decision{Kind: "provider VM", Port: p.Name, Network: p.ExternalIDs["neutron:network_name"]}
	if about.Network == "" {
		return []Decision{about.refuse("", reason(NoNetworkName, "external_ids has no neutron:network_name"))}
	}
	net := network(about.Network)
	if !net.Provider {
		return nil
	}
	decisions, addresses, cidrs := portAddressesOf(about, p)
	for _, a := range addresses {
		d := about.of(a, net)
		if a.ip.Is6() {
			d.ProxyNetworks = proxyNetworks(cidrs)
		}
		decisions = append(decisions, d.settle(v, net, p.Up, place))
	}
	return decisions
}

// portAddressesOf reads a port's addresses, with one refusal for each text that
// is none; and its neutron:cidrs.
func portAddressesOf(about Decision, p *ovsdb.LogicalSwitchPort) ([]Decision, []portAddress, []netip.Prefix) {
	parsed := parseAddresses(p.Addresses)
	cidrs, badCIDRs := parseCIDRs(p.ExternalIDs["neutron:cidrs"])
	problems := append(parsed.problems, badCIDRs...)
	addresses := parsed.addresses
	if len(addresses) == 0 && parsed.unknown {
		for _, c := range cidrs {
			addresses = append(addresses, portAddress{ip: c.Addr()})
		}
	}
	decisions := about.refuseAll(problems)
	if len(addresses) == 0 && len(problems) == 0 {
		decisions = append(decisions, about.refuse("", noAddress(p)))
	}
	return decisions, addresses, cidrs
}

func noAddress(p *ovsdb.LogicalSwitchPort) Reason {
	switch {
	case len(p.Addresses) == 0:
		return reason(NoAddress, "addresses is empty: OVN delivers nothing to this port")
	case slices.Equal(p.Addresses, []string{"unknown"}):
		return reason(NoAddress, "addresses is only \"unknown\" and neutron:cidrs names no address")
	default:
		return reason(NoAddress, "addresses %q has no IP address", p.Addresses)
	}
}

type place int

const (
	elsewhere place = iota
	here
	leaving  // here, with a second host being prepared: a live migration's source
	arriving // the second host of a live migration
)

// placePort compares where a port is with who this node is. With two hosts in
// requested-chassis the first one has the port until the migration ends; a
// virtual port is where neutron:host_id says (nb-driver.md §8.1, §13.2, F-32).
func placePort(p *ovsdb.LogicalSwitchPort, id Identity, machine string) place {
	hostname := id.Hostname
	if hostname == "" {
		hostname = machine
	}
	isMe := func(host string) bool {
		host = strings.TrimSpace(host)
		return host != "" && (host == hostname || host == id.SystemID)
	}
	requested := p.Options["requested-chassis"]
	if p.Type == "virtual" || requested == "" {
		if isMe(p.ExternalIDs["neutron:host_id"]) {
			return here
		}
		return elsewhere
	}
	hosts := strings.Split(requested, ",")
	switch {
	case len(hosts) == 1 && isMe(hosts[0]):
		return here
	case isMe(hosts[0]):
		return leaving
	case slices.ContainsFunc(hosts[1:], isMe):
		return arriving
	}
	return elsewhere
}

// settle decides about one address of a port.
func (d Decision) settle(v *ovsdb.View, net Network, up bool, where place) Decision {
	ofport, missing := patchOFPort(v, net.Localnet)
	switch {
	case where == arriving:
		return d.pend(reason(Migrating, "the port stays on its source host until it is the only one in requested-chassis"))
	case !up && where != leaving:
		return d.pend(reason(PortDown, "the port is not up"))
	case net.Bridge == "":
		d.State, d.Reason = Refused, net.Reason
		return d
	case missing != nil:
		return d.pend(*missing)
	}
	d.State, d.OFPort = Exposed, ofport
	return d
}

// of is the decision about one address of a port on a network, yet to be settled.
func (d Decision) of(a portAddress, net Network) Decision {
	d.Owner = node.Owner(d.Kind + " " + d.Port + " " + a.ip.String())
	d.IP, d.MAC, d.Bridge, d.VLAN = a.ip, a.mac, net.Bridge, net.VLAN
	return d
}

func (d Decision) pend(r Reason) Decision {
	d.State, d.Reason = Pending, r
	return d
}

// refuse is a decision against a port, or against one text in its row.
func (d Decision) refuse(text string, r Reason) Decision {
	d.Owner = node.Owner(strings.TrimSpace(d.Kind + " " + d.Port + " refused " + text))
	d.State, d.Reason = Refused, r
	return d
}

func (d Decision) refuseAll(problems []string) []Decision {
	decisions := make([]Decision, 0, len(problems))
	for _, text := range problems {
		decisions = append(decisions, d.refuse(text, reason(BadAddress, "%s", text)))
	}
	return decisions
}
