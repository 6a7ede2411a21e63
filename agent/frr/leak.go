package frr

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Leak is the configuration that leaks the routes of a VRF into FRR's default
// instance, from where its neighbours learn them.
type Leak struct {
	AS           uint32
	VRF          string
	RouterID     netip.Addr // of the VRF's instance
	Redistribute []string   // sources of the VRF's routes, such as "connected" and "kernel"
}

// families are the address families that a leak configures, as FRR writes them.
var families = []string{"ipv4 unicast", "ipv6 unicast"}

// managedSources are those that the agent puts into the VRF's instance, and so
// also takes out of it.
var managedSources = []string{"connected", "kernel"}

// Config is the text of the leak, for `vtysh -f` (side-effects.md §4.2, "Leak").
func (l Leak) Config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "router bgp %d\n", l.AS)
	writeFamilies(&b, []string{"import vrf " + l.VRF})
	fmt.Fprintf(&b, "\nrouter bgp %d vrf %s\n  bgp router-id %s\n", l.AS, l.VRF, l.RouterID)
	var lines []string
	for _, source := range l.Redistribute {
		lines = append(lines, "redistribute "+source)
	}
	writeFamilies(&b, lines)
	return b.String()
}

func writeFamilies(b *strings.Builder, lines []string) {
	for i, family := range families {
		if i > 0 {
			b.WriteString("\n")
		}
		writeFamily(b, family, lines)
	}
}

func writeFamily(b *strings.Builder, family string, lines []string) {
	fmt.Fprintf(b, "  address-family %s\n", family)
	for _, line := range lines {
		fmt.Fprintf(b, "    %s\n", line)
	}
	b.WriteString("  exit-address-family\n")
}

// Missing lists the lines that a running configuration lacks, each behind those
// that lead to it, such as "router bgp 64999 / address-family ipv4 unicast /
// import vrf bgp-vrf". A source that is redistributed and should not be is
// listed as the "no redistribute" line that ends it. Nothing is missing when the
// list is empty.
func (l Leak) Missing(r Running) []string {
	var missing []string
	lacks := func(path ...string) { missing = append(missing, strings.Join(path, " / ")) }

	main := fmt.Sprintf("router bgp %d", l.AS)
	for _, family := range families {
		if !slices.Contains(r.Default.Families[family].Imports, l.VRF) {
			lacks(main, "address-family "+family, "import vrf "+l.VRF)
		}
	}
	leaked := r.VRFs[l.VRF]
	vrf := fmt.Sprintf("%s vrf %s", main, l.VRF)
	if leaked.AS == 0 {
		lacks(vrf)
	}
	if leaked.RouterID != l.RouterID {
		lacks(vrf, "bgp router-id "+l.RouterID.String())
	}
	for _, family := range families {
		for _, source := range l.Redistribute {
			if !slices.Contains(leaked.Families[family].Redistribute, source) {
				lacks(vrf, "address-family "+family, "redistribute "+source)
			}
		}
		for _, source := range l.stale(leaked, family) {
			lacks(vrf, "address-family "+family, "no redistribute "+source)
		}
	}
	return missing
}

// stale lists the agent's own sources that are redistributed and not wanted.
func (l Leak) stale(leaked Instance, family string) []string {
	var stale []string
	for _, source := range managedSources {
		if slices.Contains(leaked.Families[family].Redistribute, source) && !slices.Contains(l.Redistribute, source) {
			stale = append(stale, source)
		}
	}
	return stale
}

// correction is the text that gives a running configuration what it lacks. The
// whole leak is repeated, which FRR takes without a BGP message.
func (l Leak) correction(r Running) string {
	var b strings.Builder
	b.WriteString(l.Config())
	leaked := r.VRFs[l.VRF]
	for _, family := range families {
		var lines []string
		for _, source := range l.stale(leaked, family) {
			lines = append(lines, "no redistribute "+source)
		}
		if lines != nil {
			fmt.Fprintf(&b, "\nrouter bgp %d vrf %s\n", l.AS, l.VRF)
			writeFamily(&b, family, lines)
		}
	}
	return b.String()
}
