package exposure

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// portAddresses is what the elements of Logical_Switch_Port.addresses or
// Port_Binding.mac say (ovn-nb(5), ovn-sb(5)).
type portAddresses struct {
	addresses []portAddress
	unknown   bool     // an entry "unknown" is present
	problems  []string // texts that are no usable address, one message each
}

type portAddress struct {
	ip  netip.Addr
	mac string // lower case; "" if unknown
}

// parseAddresses reads the union of all entries: "MAC IP…", "unknown", "router",
// "dynamic". An unusable word spoils nothing but itself (nb-driver.md §8.2, §15).
func parseAddresses(entries []string) portAddresses {
	var p portAddresses
	for _, entry := range entries {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "unknown":
			p.unknown = true
		case "router", "dynamic":
		default:
			p.addEntry(entry, words)
		}
	}
	return p
}

func (p *portAddresses) addEntry(entry string, words []string) {
	mac, err := net.ParseMAC(words[0])
	if err != nil || len(mac) != 6 {
		p.problems = append(p.problems, fmt.Sprintf("%q does not begin with a MAC address", entry))
		return
	}
	for _, word := range words[1:] {
		ip, err := parseIP(word)
		if err != nil {
			p.problems = append(p.problems, err.Error())
			continue
		}
		if !slices.ContainsFunc(p.addresses, func(a portAddress) bool { return a.ip == ip }) {
			p.addresses = append(p.addresses, portAddress{ip, mac.String()})
		}
	}
}

// parseIP accepts an address that a node can announce for a port.
func parseIP(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", text)
	case ip.Zone() != "", ip.Is4In6():
		return netip.Addr{}, fmt.Errorf("%q is not a plain IPv4 or IPv6 address", text)
	case ip.IsUnspecified(), ip.IsLoopback(), ip.IsMulticast(), ip.IsLinkLocalUnicast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return netip.Addr{}, fmt.Errorf("%s must not be announced: it is not a global unicast address", ip)
	}
	return ip, nil
}

// parseCIDRs reads neutron:cidrs; an entry that is none is reported.
func parseCIDRs(text string) (cidrs []netip.Prefix, problems []string) {
	for _, word := range strings.Fields(text) {
		cidr, err := netip.ParsePrefix(word)
		if err == nil {
			_, err = parseIP(cidr.Addr().String())
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("neutron:cidrs has %q: not a usable address with prefix length", word))
			continue
		}
		cidrs = append(cidrs, cidr)
	}
	return cidrs, problems
}

// proxyNetworks are the network addresses of IPv6 prefixes, for which the
// provider bridge must answer neighbour solicitations (side-effects.md §2.7, N2).
func proxyNetworks(cidrs []netip.Prefix) []netip.Addr {
	var networks []netip.Addr
	for _, cidr := range cidrs {
		if cidr.Addr().Is6() && !slices.Contains(networks, cidr.Masked().Addr()) {
			networks = append(networks, cidr.Masked().Addr())
		}
	}
	return networks
}
