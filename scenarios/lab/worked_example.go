package lab

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// ProviderVM is what the worked examples of the specification are about
// (side-effects.md §8.1 and §8.2; sb-driver.md §13.1).
type ProviderVM struct {
	Localnet  string // name of the network's localnet port
	VLAN      int    // 0 for a flat network
	MAC       string
	Addresses []netip.Prefix // one IPv4, one IPv6 of a /64
}

// ExpectProviderVM compares what ip and ovs-ofctl print on a node that carries
// one VM with the worked example.
func (n *Node) ExpectProviderVM(ctx context.Context, vm ProviderVM) {
	ginkgo.GinkgoHelper()
	v4, v6 := vm.Addresses[0].Addr().String(), vm.Addresses[1].Addr().String()
	network := netip.PrefixFrom(vm.Addresses[1].Addr(), 64).Masked().Addr().String()
	dev, arp, ndp := "br-ex", "169.254.1.1/32", "fd53:d91e:400:7f17::1:1/128"
	if vm.VLAN != 0 {
		dev = fmt.Sprintf("br-ex.%d", vm.VLAN)
		arp = fmt.Sprintf("169.254.1.%d/32", vm.VLAN%256)
		ndp = fmt.Sprintf("fd53:d91e:400:7f17::1:%x/128", vm.VLAN%256)
	}
	neighbours, proxies := "", ""
	if n.lab.Driver == NB {
		neighbours = lines(v4+" dev "+dev+" lladdr "+vm.MAC+" PERMANENT", v6+" dev "+dev+" lladdr "+vm.MAC+" PERMANENT")
		proxies = network + " dev " + dev + " proxy"
	}
	n.expectPrints(ctx, "ip rule show priority 32000", "32000: from all to "+v4+" lookup br-ex")
	n.expectPrints(ctx, "ip -6 rule show priority 32000", "32000: from all to "+v6+" lookup br-ex")
	n.expectPrints(ctx, "ip route show table br-ex", lines("default dev br-ex scope link", v4+" dev "+dev+" scope link"))
	n.expectPrints(ctx, "ip -6 route show table br-ex", lines(v6+" dev "+dev+" metric 1024 pref medium", "default dev br-ex metric 1024 pref medium"))
	n.expectPrints(ctx, "ip neigh show nud permanent", neighbours)
	n.expectPrints(ctx, "ip -6 neigh show proxy", proxies)
	n.expectPrints(ctx, "ip -o -4 addr show dev bgp-nic", "inet "+v4+"/32 scope global bgp-nic")
	n.expectPrints(ctx, "ip -o -6 addr show dev bgp-nic scope global", "inet6 "+v6+"/128 scope global")
	n.expectPrints(ctx, "ip -o -4 addr show scope global dev "+dev, "inet "+arp+" scope global "+dev)
	n.expectPrints(ctx, "ip -o -6 addr show scope global dev "+dev, "inet6 "+ndp+" scope global")
	sysctl := strings.ReplaceAll(dev, ".", "/")
	n.expectPrints(ctx, "sysctl -n net.ipv4.conf."+sysctl+".proxy_arp net.ipv6.conf."+sysctl+".proxy_ndp", lines("1", "1"))
	n.expectLink(ctx, "bgp-vrf", "vrf table 10")
	n.expectLink(ctx, "bgp-nic", "master bgp-vrf")
	if vm.VLAN != 0 {
		n.expectLink(ctx, dev, fmt.Sprintf("vlan protocol 802.1Q id %d", vm.VLAN))
	}
	n.expectFlows(ctx, vm.Localnet)
	n.expectLeak(ctx)
}

// ExpectEmptyNode compares what ip and ovs-ofctl print on a node with nothing to
// announce with the worked example (sb-driver.md §13.0), without any patch port.
func (n *Node) ExpectEmptyNode(ctx context.Context) {
	ginkgo.GinkgoHelper()
	n.expectPrints(ctx, "ip rule show priority 32000", "")
	n.expectPrints(ctx, "ip -6 rule show priority 32000", "")
	n.expectPrints(ctx, "ip route show table br-ex", "default dev br-ex scope link")
	n.expectPrints(ctx, "ip -6 route show table br-ex", "default dev br-ex metric 1024 pref medium")
	n.expectPrints(ctx, "ip neigh show nud permanent", "")
	n.expectPrints(ctx, "ip -6 neigh show proxy", "")
	n.expectPrints(ctx, "ip -o link show type vlan", "")
	n.expectPrints(ctx, "ip -o addr show scope global dev bgp-nic", "")
	n.expectPrints(ctx, "ip -o addr show scope global dev br-ex", lines("inet 169.254.1.1/32 scope global br-ex", "inet6 fd53:d91e:400:7f17::1:1/128 scope global"))
	n.expectPrints(ctx, "ovs-ofctl dump-flows --no-names --no-stats br-ex", "priority=0 actions=NORMAL")
	n.expectLeak(ctx)
}

func lines(l ...string) string { return strings.Join(l, "\n") }

var (
	ifindex  = regexp.MustCompile(`^\d+: \S+ +inet`)
	lifetime = regexp.MustCompile(`\\? *valid_lft.*$`)
	blanks   = regexp.MustCompile(`\s+`)
)

// expectPrints compares a command's lines, in any order and without interface
// numbers, lifetimes and the mark of an address that was added without duplicate
// address detection, which a dummy does not do anyway.
func (n *Node) expectPrints(ctx context.Context, command, want string) {
	ginkgo.GinkgoHelper()
	words := strings.Fields(command)
	got := canonical(n.Must(ctx, words[0], words[1:]...))
	gomega.Expect(got).To(gomega.Equal(canonical(want)), "%s on %s", command, n.name)
}

func canonical(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(lifetime.ReplaceAllString(ifindex.ReplaceAllString(strings.TrimRight(line, "\n"), "inet"), ""), " nodad", "")
		line = strings.TrimSpace(blanks.ReplaceAllString(strings.ReplaceAll(line, "proto boot ", ""), " "))
		if line != "" {
			kept = append(kept, line)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "\n")
}

func (n *Node) expectLink(ctx context.Context, dev, detail string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(n.Must(ctx, "ip", "-d", "link", "show", "dev", dev)).To(gomega.ContainSubstring(detail))
}

// expectFlows: both MAC-tweak flows of the network's patch port, and the bridge's
// own NORMAL flow, and nothing else.
func (n *Node) expectFlows(ctx context.Context, localnet string) {
	ginkgo.GinkgoHelper()
	mac := strings.TrimSpace(n.Must(ctx, "cat", "/sys/class/net/br-ex/address"))
	port := strings.TrimSpace(n.Must(ctx, "ovs-vsctl", "get", "Interface", "patch-"+localnet+"-to-br-int", "ofport"))
	n.expectPrints(ctx, "ovs-ofctl dump-flows --no-names --no-stats br-ex", lines(
		"cookie=0x3e7, priority=900,ip,in_port="+port+" actions=mod_dl_dst:"+mac+",NORMAL",
		"cookie=0x3e7, priority=900,ipv6,in_port="+port+" actions=mod_dl_dst:"+mac+",NORMAL",
		"priority=0 actions=NORMAL",
	))
}

// leak is what the agent adds to FRR's running configuration (side-effects.md §8.1).
const leak = `router bgp 64999 vrf bgp-vrf
 bgp router-id %s
 !
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 !
 address-family ipv6 unicast
  redistribute connected
 exit-address-family
exit`

func (n *Node) expectLeak(ctx context.Context) {
	ginkgo.GinkgoHelper()
	config := n.Must(ctx, "vtysh", "-c", "show running-config")
	gomega.Expect(strings.Count(config, "  import vrf bgp-vrf\n")).To(gomega.Equal(2), "import of the VRF in both address families")
	gomega.Expect(config).To(gomega.ContainSubstring(fmt.Sprintf(leak, n.RouterID())))
}
