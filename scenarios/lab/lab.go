// Package lab is the cloud of one scenario: nodes with real FRR and real Open
// vSwitch, OVN databases in memory, a GoBGP fabric, and on every node the agent
// under test as a process. A scenario drives it through the verbs of sim/cloud and
// claims what the fabric learns.
//
// What holds in every scenario is checked here at every step (see invariants.go).
package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/netns"
	"ovn-bgp-agent/sim/cloud"
	"ovn-bgp-agent/sim/ovsdb"
)

// The drivers of the agent, as its configuration names them.
const (
	NB = "nb_ovn_bgp_driver"
	SB = "ovn_bgp_driver"
)

// Start is within how long things that need a session or a first sync must be done.
const Start = 20 * time.Second

// soon is within how long the fabric must learn of a row's change: a second, of
// which FRR takes about 63 ms. In the guest, where a system call costs several
// times as much and all programs share one processor, it is three.
func soon() time.Duration {
	if os.Getenv("TESTBED_KERNEL") == string(netns.Guest) {
		return 3 * time.Second
	}
	return time.Second
}

// SoonAfter is the time from a mark to soon after the present: for a claim about
// what has just been committed by a step that began at the mark.
func SoonAfter(since fabric.Mark) time.Duration { return time.Since(since.Time) + soon() }

// Limit ends a scenario that hangs.
const Limit = ginkgo.SpecTimeout(3 * time.Minute)

// Options say how a lab differs from the usual one.
type Options struct {
	Driver string   // NB or SB
	Hosts  []string // default: cmp1
	// Physnets are the bridge mappings of every host; default public:br-ex.
	Physnets []Physnet
	// MoreMappings is appended to ovn-bridge-mappings as it is; its bridges are not made.
	MoreMappings string
	// MemoryVSwitch serves the agent an Open_vSwitch database from memory, whose
	// every column the scenario controls; the switch itself stays real.
	MemoryVSwitch bool
	// NoBGP leaves FRR without a BGP instance.
	NoBGP bool
	// RTTables is the content of /etc/iproute2/rt_tables before the agent starts.
	RTTables string
	// Config adds options to the [DEFAULT] section of bgp-agent.conf.
	Config map[string]string
}

// Physnet is one entry of ovn-bridge-mappings.
type Physnet struct{ Name, Bridge string }

// Lab is a running cloud.
type Lab struct {
	Options
	Cloud    *cloud.Cloud
	Ours     bool // the agent under test is this project's, so it can be asked
	Fabric   *fabric.Fabric
	Timeline *fabric.Timeline
	NBProxy  *ovsdb.Proxy // in front of the Northbound database
	SBProxy  *ovsdb.Proxy // in front of the Southbound database
	nb, sb   ovsdb.Server
	nodes    map[string]*Node
	settings Settings
	log      *slog.Logger
	dir      string // sockets of this lab
	out      string // artifacts of this lab
	fences   int    // sentinel ports booted so far, see foreign.go
	network  func(name string)
}

// Settings come from the one who runs the suite, by environment.
type Settings struct {
	Agent   string // TESTBED_AGENT: path of the agent's program
	Out     string // TESTBED_OUT: the folder for artifacts
	Foreign bool   // TESTBED_FOREIGN: treat the agent as one that cannot be asked
}

func readSettings() Settings {
	s := Settings{Agent: os.Getenv("TESTBED_AGENT"), Out: os.Getenv("TESTBED_OUT"), Foreign: os.Getenv("TESTBED_FOREIGN") != ""}
	if s.Agent == "" {
		ginkgo.Fail("TESTBED_AGENT is unset: run the suite by `make scenarios`")
	}
	if s.Out == "" {
		s.Out = ginkgo.GinkgoT().TempDir()
	}
	return s
}

// New builds the lab of the running spec; it is torn down with the spec. Agents
// are not started yet.
func New(ctx context.Context, o Options) *Lab {
	if len(o.Hosts) == 0 {
		o.Hosts = []string{"cmp1"}
	}
	if len(o.Physnets) == 0 {
		o.Physnets = []Physnet{{"public", "br-ex"}}
	}
	l := &Lab{Options: o, nodes: map[string]*Node{}, settings: readSettings(), network: func(string) {}}
	l.Ours = l.settings.isOurs(ctx)
	l.log = slog.New(slog.NewTextHandler(ginkgo.GinkgoWriter, &slog.HandlerOptions{Level: slog.LevelInfo}))
	l.out = filepath.Join(l.settings.Out, slug(ginkgo.CurrentSpecReport().FullText()))
	gomega.Expect(os.MkdirAll(l.out, 0o755)).To(gomega.Succeed())
	dir, err := os.MkdirTemp("", "lab")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	l.dir = dir
	ginkgo.DeferCleanup(os.RemoveAll, dir)
	l.openDatabases()
	l.openNodes(ctx)
	l.openCloud(ctx)
	ginkgo.DeferCleanup(l.dumpOnFailure)
	return l
}

// slug makes a folder's name of a spec's name.
func slug(text string) string {
	keep := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}
	return strings.Trim(strings.Map(keep, text), "_")
}

func (l *Lab) openDatabases() {
	open := func(name string) (ovsdb.Server, *ovsdb.Proxy) {
		schema, err := ovsdb.BuiltinSchema(name)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		server, err := ovsdb.NewMemory(schema, l.socket(name+".backend"), l.log)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		ginkgo.DeferCleanup(server.Stop)
		proxy, err := ovsdb.NewProxy(l.socket(name), server.Endpoint())
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		ginkgo.DeferCleanup(proxy.Close)
		return server, proxy
	}
	l.nb, l.NBProxy = open("OVN_Northbound")
	l.sb, l.SBProxy = open("OVN_Southbound")
}

// socket is the endpoint of a socket in the lab's own folder.
func (l *Lab) socket(name string) string { return "unix:" + filepath.Join(l.dir, name+".sock") }

// The fabric's side of the links: node number n has 100.64.n.2 and
// fd00:64:n::2, the fabric .1 and ::1.
const (
	nodeAS   = 64999
	fabricAS = 65000
)

func linkAddresses(n, host int) []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix(fmt.Sprintf("100.64.%d.%d/30", n, host)),
		netip.MustParsePrefix(fmt.Sprintf("fd00:64:%d::%d/64", n, host)),
	}
}

// openNodes builds the fabric and the nodes, and waits for the BGP sessions.
func (l *Lab) openNodes(ctx context.Context) {
	spine, err := netns.NewNode(ctx, netns.NodeConfig{Name: "fabric", Artifacts: l.out, Log: l.log, OnCrash: l.crashed})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(spine.Close)
	var peers []fabric.Peer
	for i, host := range l.Hosts {
		n := i + 1
		node := l.openNode(ctx, host, n)
		gomega.Expect(netns.Connect(spine, fmt.Sprintf("to-%s", host), linkAddresses(n, 1), node.Node, "uplink", linkAddresses(n, 2))).To(gomega.Succeed())
		peers = append(peers, fabric.Peer{Name: host, Address: linkAddresses(n, 2)[0].Addr(), AS: nodeAS})
	}
	l.Fabric, err = fabric.Start(ctx, fabric.Config{
		AS: fabricAS, RouterID: netip.MustParseAddr("100.64.0.1"), NetNS: spine.NetNS(), Peers: peers, Log: l.log,
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(l.Fabric.Stop)
	l.Timeline = l.Fabric.Timeline()
	for _, host := range l.Hosts {
		l.nodes[host].startPrograms(ctx)
	}
	if !l.NoBGP {
		limited, cancel := context.WithTimeout(ctx, Start)
		defer cancel()
		gomega.Expect(l.Fabric.WaitEstablished(limited, l.Hosts...)).To(gomega.Succeed(), "BGP sessions")
	}
}

func (l *Lab) crashed(err error) {
	defer ginkgo.GinkgoRecover()
	ginkgo.Fail("a program of the lab crashed: " + err.Error())
}

func (l *Lab) openCloud(ctx context.Context) {
	config := cloud.Config{NB: l.nb, SB: l.sb, Log: l.log}
	for _, host := range l.Hosts {
		node := l.nodes[host]
		config.Hosts = append(config.Hosts, cloud.Host{
			Name: host, SystemID: node.systemID(), BridgeMappings: node.mappings(), Patch: node.patch,
		})
	}
	l.Cloud = cloud.New(config)
	gomega.Expect(l.Cloud.Start(ctx)).To(gomega.Succeed())
}

// Agent is the path of the agent's program.
func (l *Lab) Agent() string { return l.settings.Agent }

// OnNetwork has f told of each network that CreateNetwork makes.
func (l *Lab) OnNetwork(f func(name string)) { l.network = f }

// CreateNetwork makes a provider network.
func (l *Lab) CreateNetwork(ctx context.Context, network cloud.ProviderNetwork) {
	ginkgo.GinkgoHelper()
	gomega.Expect(l.Cloud.CreateNetwork(ctx, network)).To(gomega.Succeed())
	l.network(network.Name)
}

// Node is a host of the lab by its name.
func (l *Lab) Node(name string) *Node {
	n, ok := l.nodes[name]
	gomega.Expect(ok).To(gomega.BeTrue(), "no host "+name)
	return n
}

// Only is the first host, of a lab that needs no other.
func (l *Lab) Only() *Node { return l.Node(l.Hosts[0]) }

// StartAgents starts the agent on every host and waits for its first sync.
func (l *Lab) StartAgents(ctx context.Context) {
	for _, host := range l.Hosts {
		l.nodes[host].StartAgent(ctx)
	}
	l.fence(ctx)
	if l.Cloud.Empty() {
		for _, host := range l.Hosts {
			l.nodes[host].RememberBase(ctx)
		}
	}
}

func (l *Lab) dumpOnFailure(ctx context.Context) {
	if !ginkgo.CurrentSpecReport().Failed() {
		return
	}
	ginkgo.GinkgoWriter.Printf("\n── timeline of the fabric ──\n%s\n", l.Timeline)
	for _, host := range l.Hosts {
		l.nodes[host].dump(ctx)
	}
}
