package exposure

import (
	"ovn-bgp-agent/agent/ovsdb"
)

// Southbound is the driver ovn_bgp_driver (sb-driver.md).
func Southbound(Settings) Driver {
	return Driver{
		Database:  ovsdb.Southbound,
		PortTable: "Port_Binding",
		Network:   datapathNetwork,
		Base: func(v *ovsdb.View) Base {
			return deriveBase(v, func(physnet string) []localnet {
				return localnetBindings(ovsdb.Find(v, ovsdb.PortBindings, ovsdb.LocalnetBindingByNetworkName, physnet))
			})
		},
		Port: bindingPort,
	}
}

func localnetBindings(rows []*ovsdb.PortBinding) []localnet {
	ports := make([]localnet, len(rows))
	for i, b := range rows {
		ports[i] = localnet{b.LogicalPort, b.Options["network_name"], b.Tag}
	}
	return ports
}

// datapathNetwork finds the localnet port of a datapath, by the datapath's UUID.
func datapathNetwork(v *ovsdb.View, datapath string) Network {
	mappings, _ := nodeMappings(v)
	return chooseLocalnet(localnetBindings(ovsdb.Find(v, ovsdb.PortBindings, ovsdb.LocalnetByDatapath, datapath)), mappings)
}

// bindingPort decides about a VM or virtual port on a provider network
// (sb-driver.md §10.1 a, §10.9).
func bindingPort(v *ovsdb.View, uuid string, network func(string) Network) []Decision {
	b, ok := ovsdb.Get(v, ovsdb.PortBindings, uuid)
	if !ok || (b.Type != "" && b.Type != "virtual") || !boundHere(v, b) {
		return nil
	}
	net := network(b.Datapath)
	if !net.Provider {
		return nil
	}
	about := Decision{Kind: "provider VM", Port: b.LogicalPort, Network: networkLabel(b)}
	parsed := parseAddresses(b.MAC)
	cidrs, badCIDRs := parseCIDRs(b.ExternalIDs["neutron:cidrs"])
	problems := append(parsed.problems, badCIDRs...)
	decisions := about.refuseAll(problems)
	if len(parsed.addresses) == 0 && len(problems) == 0 {
		decisions = append(decisions, about.refuse("", reason(NoAddress, "mac %q has no IP address", b.MAC)))
	}
	for _, a := range parsed.addresses {
		d := about.of(portAddress{ip: a.ip}, net)
		if b.Type == "virtual" && a.ip.Is6() {
			d.ProxyNetworks = proxyNetworks(cidrs)
		}
		decisions = append(decisions, d.settle(v, net, b.Up, here))
	}
	return decisions
}

// boundHere: the binding's chassis is the one named by this node's system-id.
func boundHere(v *ovsdb.View, b *ovsdb.PortBinding) bool {
	me := NodeIdentity(v).SystemID
	if b.Chassis == "" || me == "" {
		return false
	}
	chassis, ok := ovsdb.Get(v, ovsdb.ChassisRows, b.Chassis)
	return ok && chassis.Name == me
}

// networkLabel names a binding's network for people.
func networkLabel(b *ovsdb.PortBinding) string {
	if name := b.ExternalIDs["neutron:network_name"]; name != "" {
		return name
	}
	return "datapath " + b.Datapath
}
