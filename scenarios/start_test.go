package scenarios

import (
	"context"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/netns/journal"
	"ovn-bgp-agent/scenarios/lab"
)

var _ = Describe("scenario 1", func() {
	It("agent start and steady state, SB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.SB})
		l.StartAgents(ctx)
		n := l.Only()

		l.Step(ctx, "one VM runs", lab.Touches(vm1v4, vm1v6), func(fabric.Mark) {
			Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 0))).To(Succeed())
			Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4, vm1v6))).To(Succeed())
		})
		if l.Ours {
			Expect(n.SyncCount(ctx)).To(Equal(1), "the initial rows cause exactly one sync")
		}

		if l.Ours {
			Expect(n.Must(ctx, l.Agent(), "--config-file", lab.ConfigFile, "status")).To(MatchRegexp(`172\.24\.4\.10/32 +applied +provider VM`))
		}
		playRepairs(ctx, l)
		playLeftovers(ctx, l)
		l.Finish(ctx)
	})

	It("an agent that starts when everything is there, SB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.SB, RTTables: "255 local\n254 main\n201 br-ex"})
		l.Step(ctx, "a VM was booted before the agent", lab.Effects{Down: true}, func(fabric.Mark) {
			Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 1001))).To(Succeed())
			Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4, vm1v6))).To(Succeed())
		})
		if l.Ours {
			playDryRun(ctx, l)
		}
		l.Step(ctx, "the agent starts", lab.Touches(vm1v4, vm1v6), func(since fabric.Mark) {
			l.StartAgents(ctx)
			Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(since).Within(lab.Start))
		})
		Expect(l.Only().Must(ctx, "cat", "/etc/iproute2/rt_tables")).To(Equal("255 local\n254 main\n201 br-ex"), "the table that was listed is used, and nothing is added")
		l.Finish(ctx)
	})

	It("FRR without a router-id, SB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.SB, NoBGP: true})
		l.StartAgents(ctx)
		n := l.Only()
		l.Step(ctx, "a VM boots; nothing can be announced, and the log says why", lab.Touches(vm1v4), func(since fabric.Mark) {
			Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 0))).To(Succeed())
			Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4))).To(Succeed())
			Eventually(n.Log).WithTimeout(5 * time.Second).Should(ContainSubstring("Unknown router-id, needed for route leaking"))
			n.ConfigureBGP(ctx)
			n.ForgetBase()
			Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(since).Within(lab.Start))
			n.Sync(ctx) // the agent may have read a router-id before the operator's line took effect
		})
		l.Finish(ctx)
	})
})

// playDryRun starts the agent so that it only says what it would do.
func playDryRun(ctx context.Context, l *lab.Lab) {
	n := l.Only()
	before, entries := n.State(ctx), n.Journal.Now()
	l.Step(ctx, "the agent starts with --dry-run: it writes nothing, and status says what it would do", lab.Effects{Down: true}, func(fabric.Mark) {
		n.StartAgent(ctx, "--dry-run")
		report, err := n.Status(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Plan).To(ContainElements("make link bgp-vrf", "make announce 172.24.4.10/32", "make announce 2001:db8::10/128"))
		Expect(n.Must(ctx, l.Agent(), "--config-file", lab.ConfigFile, "status")).To(ContainSubstring("make announce 172.24.4.10/32"))
		n.StopAgent()
	})
	n.ExpectState(ctx, before, "the dry run changed nothing")
	Expect(n.Journal.Writes(entries, journal.Configured())).To(BeEmpty(), "the kernel's state was not touched")
}

// playRepairs breaks the node by hand, one thing after the other, and has a sync
// repair it.
func playRepairs(ctx context.Context, l *lab.Lab) {
	n := l.Only()
	for _, broken := range []struct {
		what     string
		command  string
		effects  lab.Effects
		announce bool // the prefix goes and comes back
		kind     string
		writes   uint64
	}{
		{"the rule", "ip rule del to 172.24.4.10 priority 32000", lab.Nothing(), false, "rule", 1},
		{"the route", "ip route del 172.24.4.10 dev br-ex table br-ex", lab.Nothing(), false, "route", 1},
		{"the flow", "ovs-ofctl del-flows br-ex ip,cookie=999/-1", lab.Nothing(), false, "flow", 1},
		{"the address", "ip addr del 172.24.4.10/32 dev bgp-nic", lab.Touches(vm1v4), true, "announcement", 1},
		{"FRR's import", "vtysh -c 'configure terminal' -c 'router bgp 64999' -c 'address-family ipv4 unicast' -c 'no import vrf bgp-vrf'", lab.Touches(vm1v4), true, "frr", 1},
	} {
		effects := broken.effects
		l.StepBroken(ctx, broken.what+" is deleted by hand", effects, func(since fabric.Mark) {
			n.Must(ctx, "sh", "-c", broken.command)
			if broken.announce {
				Expect(l.Timeline).To(fabric.Withdrawn(vm1v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
			}
		})
		l.Step(ctx, "a sync puts "+broken.what+" back, and nothing else", effects, func(since fabric.Mark) {
			writes := n.Sync(ctx)
			if l.Ours {
				Expect(writes).To(Equal(map[string]uint64{broken.kind: broken.writes}))
			}
			if broken.announce {
				Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
			}
		})
	}
}

// playLeftovers puts on the node what an agent that died would have left, and what
// an operator made; a sync removes the one and not the other.
func playLeftovers(ctx context.Context, l *lab.Lab) {
	n := l.Only()
	before := n.State(ctx)
	leftover := netip.MustParsePrefix("172.24.4.77/32")
	l.StepBroken(ctx, "leftovers of a dead agent appear", lab.Touches(leftover), func(since fabric.Mark) {
		for _, command := range []string{
			"ip rule add to 172.24.4.77 lookup br-ex priority 32000",
			"ip neigh add 172.24.4.77 lladdr fa:16:3e:00:00:77 nud permanent dev br-ex",
			"ip route add 172.24.4.77 dev br-ex table br-ex",
			"ovs-ofctl add-flow br-ex cookie=999,priority=1000,ip,in_port=77,actions=NORMAL",
			"ip addr add 172.24.4.77/32 dev bgp-nic",
		} {
			n.Must(ctx, "sh", "-c", command)
		}
		Expect(l.Timeline).To(fabric.Announced(leftover).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	l.Step(ctx, "a sync removes them", lab.Touches(leftover), func(since fabric.Mark) {
		n.Sync(ctx)
		Expect(l.Timeline).To(fabric.Withdrawn(leftover).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	n.ExpectState(ctx, before, "the leftovers are gone")

	for _, command := range []string{
		"ip rule add from all lookup br-ex priority 31000",
		"ip route add 198.51.100.0/24 dev br-ex table br-ex proto static",
		"ip neigh add 198.51.100.1 lladdr fa:16:3e:00:00:78 nud permanent dev br-ex",
		"ovs-ofctl add-flow br-ex cookie=1,priority=5,arp,actions=NORMAL",
	} {
		n.Must(ctx, "sh", "-c", command)
	}
	operators := n.State(ctx)
	l.Step(ctx, "a sync leaves the operator's own things alone", lab.Nothing(), func(fabric.Mark) {
		Expect(n.Sync(ctx)).To(BeEmpty())
	})
	n.ExpectState(ctx, operators, "the operator's rule, route, neighbour and flow are still there")
	for _, command := range []string{
		"ip rule del from all lookup br-ex priority 31000",
		"ip route del 198.51.100.0/24 dev br-ex table br-ex",
		"ip neigh del 198.51.100.1 dev br-ex",
		"ovs-ofctl del-flows br-ex arp,cookie=1/-1",
	} {
		n.Must(ctx, "sh", "-c", command)
	}
}
