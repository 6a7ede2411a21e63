package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/netns"
	"ovn-bgp-agent/netns/journal"
	"ovn-bgp-agent/netns/state"
	"ovn-bgp-agent/sim/cloud"
	"ovn-bgp-agent/sim/ovsdb"
)

// Node is a host of the lab.
type Node struct {
	*netns.Node
	lab     *Lab
	name    string
	number  int
	patch   cloud.PatchPorts
	VSwitch *cloud.VSwitch // with Options.MemoryVSwitch, its Open_vSwitch database
	vswitch string         // endpoint of the Open_vSwitch database that the agent reads
	Journal *journal.Journal
	watch   *watch
	agent   *agentProcess
	base    state.State // as after the first sync, before the scenario
}

func (l *Lab) openNode(ctx context.Context, name string, number int) *Node {
	base, err := netns.NewNode(ctx, netns.NodeConfig{Name: name, Artifacts: l.out, Log: l.log, RTTables: l.RTTables, OnCrash: l.crashed})
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "node "+name)
	ginkgo.DeferCleanup(base.Close)
	n := &Node{Node: base, lab: l, name: name, number: number}
	l.nodes[name] = n
	n.vswitch, n.patch = "unix:/run/openvswitch/db.sock", cloud.Vsctl{Run: n.Run}
	if l.MemoryVSwitch {
		n.openMemoryVSwitch(ctx)
	}
	n.Journal, err = journal.Open(base.NetNS(), l.log)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(n.Journal.Close)
	n.watch = newWatch(n)
	return n
}

func (n *Node) openMemoryVSwitch(ctx context.Context) {
	schema, err := ovsdb.BuiltinSchema("Open_vSwitch")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	server, err := ovsdb.NewMemory(schema, n.lab.socket("vswitch-"+n.name), n.lab.log)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(server.Stop)
	n.VSwitch, err = cloud.NewVSwitch(ctx, server, map[string]string{
		"system-id": n.systemID(), "hostname": n.name, "ovn-bridge-mappings": n.mappingText(),
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, bridge := range n.bridges() {
		gomega.Expect(n.VSwitch.AddBridge(ctx, bridge)).To(gomega.Succeed())
	}
	n.vswitch, n.patch = server.Endpoint(), n.VSwitch
}

func (n *Node) systemID() string { return "id-" + n.name }

// RouterID is the BGP router-id that the node's operator configured.
func (n *Node) RouterID() netip.Addr { return netip.AddrFrom4([4]byte{172, 24, 4, byte(n.number)}) }

func (n *Node) mappings() map[string]string {
	m := map[string]string{}
	for _, p := range n.lab.Physnets {
		m[p.Name] = p.Bridge
	}
	return m
}

func (n *Node) mappingText() string {
	var entries []string
	for _, p := range n.lab.Physnets {
		entries = append(entries, p.Name+":"+p.Bridge)
	}
	if n.lab.MoreMappings != "" {
		entries = append(entries, n.lab.MoreMappings)
	}
	return strings.Join(entries, ",")
}

func (n *Node) bridges() []string {
	var bridges []string
	seen := map[string]bool{}
	for _, p := range n.lab.Physnets {
		if !seen[p.Bridge] {
			bridges, seen[p.Bridge] = append(bridges, p.Bridge), true
		}
	}
	return bridges
}

// frrConfig is what an operator writes for a node with one uplink.
func (n *Node) frrConfig() string {
	peer := linkAddresses(n.number, 1)[0].Addr()
	return fmt.Sprintf(`frr defaults traditional
hostname %s
log timestamp precision 3
ip nht resolve-via-default
ipv6 nht resolve-via-default
router bgp %d
 bgp router-id %s
 bgp log-neighbor-changes
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor uplink peer-group
 neighbor uplink remote-as %d
 neighbor uplink timers connect 1
 neighbor uplink advertisement-interval 0
 neighbor %s peer-group uplink
 address-family ipv4 unicast
  neighbor uplink activate
  neighbor uplink prefix-list only-host-prefixes out
 exit-address-family
 address-family ipv6 unicast
  neighbor uplink activate
  neighbor uplink prefix-list only-host-prefixes out
 exit-address-family
exit
ip prefix-list only-host-prefixes permit 0.0.0.0/0 ge 32
ipv6 prefix-list only-host-prefixes permit ::/0 ge 128
`, n.name, nodeAS, n.RouterID(), fabricAS, peer)
}

// startPrograms starts Open vSwitch and FRR, at the same time.
func (n *Node) startPrograms(ctx context.Context) {
	ovs := make(chan error, 1)
	go func() {
		ovs <- n.StartOVS(ctx, netns.OVSConfig{
			SystemID: n.systemID(), Hostname: n.name, BridgeMappings: n.mappingText(), Bridges: append([]string{"br-int"}, n.bridges()...),
		})
	}()
	config := n.frrConfig()
	if n.lab.NoBGP {
		config = "frr defaults traditional\nhostname " + n.name + "\n"
	}
	frr := n.StartFRR(ctx, config, "zebra", "bgpd")
	gomega.Expect(errors.Join(<-ovs, frr)).To(gomega.Succeed(), "the programs of "+n.name)
}

// Must runs a program on the node and returns its output; it must succeed.
func (n *Node) Must(ctx context.Context, name string, args ...string) string {
	ginkgo.GinkgoHelper()
	out, err := n.Run(ctx, name, args...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "%s on %s", name, n.name)
	return out
}

// State is the node's state as text.
func (n *Node) State(ctx context.Context) state.State {
	ginkgo.GinkgoHelper()
	s, err := state.Read(ctx, n.reader())
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "state of "+n.name)
	return s
}

func (n *Node) reader() state.Reader {
	return state.Reader{NetNS: n.NetNS(), Run: n.Run, Bridges: n.bridges(), FRR: true}
}

// Appeared is when the address came into the VRF, after the mark.
func (n *Node) Appeared(ctx context.Context, since journal.Mark, prefix netip.Prefix) time.Time {
	ginkgo.GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, Start)
	defer cancel()
	var entry journal.Entry
	err := n.Journal.WaitFor(ctx, func() (seen bool) {
		entry, seen = n.Journal.First(since, journal.Appears(prefix, bgpNIC))
		return seen
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "%s in the VRF of %s", prefix, n.name)
	return entry.Time
}

// RememberBase takes the node's state as what must be left at the end.
func (n *Node) RememberBase(ctx context.Context) { n.base = n.State(ctx) }

// ForgetBase: the operator has changed what the node is without the agent's doing.
func (n *Node) ForgetBase() { n.base = nil }

// ExpectState waits until the node's state is the one given.
func (n *Node) ExpectState(ctx context.Context, want state.State, what string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() string { return state.Diff(want, n.State(ctx)) }).
		WithTimeout(5*time.Second).WithPolling(100*time.Millisecond).Should(gomega.BeEmpty(), "%s: %s", n.name, what)
}

// ConfigureBGP types in what the operator of a node without BGP would.
func (n *Node) ConfigureBGP(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.WriteFile(n.Path("/run/operator.conf"), []byte(n.frrConfig()), 0o644)).To(gomega.Succeed())
	n.Must(ctx, "vtysh", "-f", "/run/operator.conf")
}

func (n *Node) dump(ctx context.Context) {
	s, err := state.Read(ctx, n.reader())
	ginkgo.GinkgoWriter.Printf("\n── state of %s (error: %v) ──\n%s\n", n.name, err, s)
	logs, _ := filepath.Glob(filepath.Join(n.lab.out, n.name, "*.log"))
	for _, file := range logs {
		text, err := os.ReadFile(file)
		if err == nil {
			ginkgo.GinkgoWriter.Printf("\n── tail of %s ──\n%s\n", file, tail(string(text), 40))
		}
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
