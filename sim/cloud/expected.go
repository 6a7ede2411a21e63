package cloud

import (
	"fmt"
	"net/netip"
	"slices"
)

// Expected are the prefixes that a host must announce, sorted: the addresses
// of the VMs that are up on it, on provider networks that it maps. An unknown
// host must announce nothing.
func (c *Cloud) Expected(hostName string) []netip.Prefix {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []netip.Prefix
	for _, p := range c.ports {
		if !p.up || p.host == nil || p.host.Name != hostName {
			continue
		}
		if _, mapped := p.host.BridgeMappings[p.network.Physnet]; !mapped {
			continue
		}
		for _, a := range p.answersTo {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return slices.Compact(out)
}

func addressTexts(addresses []netip.Addr) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = a.String()
	}
	return out
}

func parseAddresses(texts []string) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(texts))
	for i, t := range texts {
		a, err := netip.ParseAddr(t)
		if err != nil {
			return nil, fmt.Errorf("expected address: %w", err)
		}
		out[i] = a
	}
	return out, nil
}
