package defects

import (
	"context"
	"net/netip"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
	"ovn-bgp-agent/sim/cloud"
)

var (
	healthy  = netip.MustParsePrefix("172.24.4.13/32")
	waiting4 = netip.MustParsePrefix("172.24.5.12/32")
	waiting6 = netip.MustParsePrefix("2001:db8:5::12/128")
)

// late is how long the patch port is missing; the reference gives up after 5 s.
const late = 10 * time.Second

var _ = ginkgo.Describe("D1", func() {
	ginkgo.It("a patch port that appears late: its Interface row is absent, NB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB})
		l.StartAgents(ctx)
		gomega.Expect(l.Cloud.HoldPatchPorts("cmp1")).To(gomega.Succeed())
		release := func(network string) {
			gomega.Expect(l.Cloud.ReleasePatchPorts(ctx, "cmp1", network)).To(gomega.Succeed())
		}
		playLatePatchPort(ctx, l, late, release, func() { release("late") })
	})
	for _, missing := range []struct {
		name   string
		ofport []int
	}{{"its ofport is empty", nil}, {"its ofport is -1", []int{-1}}} {
		ginkgo.It("a patch port that appears late: "+missing.name+", SB driver", lab.Limit, func(ctx context.Context) {
			l := lab.New(ctx, lab.Options{Driver: lab.SB, MemoryVSwitch: true})
			l.StartAgents(ctx)
			n := l.Only()
			var patch string
			n.VSwitch.Ofports(func(name string) []int {
				if name == patch {
					return missing.ofport
				}
				return []int{5}
			})
			l.OnNetwork(func(network string) {
				if network == "late" {
					patch, _ = cloud.PatchPortNames(l.Cloud.LocalnetPort(network))
				}
			})
			playLatePatchPort(ctx, l, time.Second, func(string) {}, func() {
				gomega.Expect(n.VSwitch.SetOfport(ctx, patch, 7)).To(gomega.Succeed())
			})
		})
	}
})

// playLatePatchPort boots a VM on a network whose patch port is not usable yet,
// and lets it appear after a while; release lets another network have its own.
func playLatePatchPort(ctx context.Context, l *lab.Lab, after time.Duration, release func(network string), appear func()) {
	n := l.Only()
	l.Step(ctx, "vm2 boots on a network whose patch port is not there", lab.Effects{Pending: []netip.Prefix{waiting4, waiting6}}, func(fabric.Mark) {
		l.CreateNetwork(ctx, cloud.ProviderNetwork{Name: "late", Physnet: "public", VLAN: 100, Subnets: []netip.Prefix{
			netip.MustParsePrefix("172.24.5.0/24"), netip.MustParsePrefix("2001:db8:5::/64"),
		}})
		gomega.Expect(l.Cloud.BootVM(ctx, cloud.VM{Name: "vm2", Network: "late", Host: "cmp1", Addresses: []netip.Addr{waiting4.Addr(), waiting6.Addr()}})).To(gomega.Succeed())
	})
	if l.Ours {
		pending := n.Exposure(ctx, waiting4.String())
		gomega.Expect(pending.State).To(gomega.Equal("pending"))
		gomega.Expect(pending.Reason).To(gomega.ContainSubstring("patch-" + l.Cloud.LocalnetPort("late") + "-to-br-int"))
		gomega.Expect(n.LinesAbout(" 172.24.5.12", pending.Reason)).To(gomega.HaveLen(1), "the log says so once")
	}
	l.Step(ctx, "vm3 on another network is announced meanwhile, at once",
		lab.Effects{Prefixes: []netip.Prefix{healthy}, Pending: []netip.Prefix{waiting4, waiting6}}, func(since fabric.Mark) {
			l.CreateNetwork(ctx, cloud.ProviderNetwork{Name: "ready", Physnet: "public", Subnets: []netip.Prefix{netip.MustParsePrefix("172.24.4.0/24")}})
			gomega.Expect(l.Cloud.BootVM(ctx, cloud.VM{Name: "vm3", Network: "ready", Host: "cmp1", Addresses: []netip.Addr{healthy.Addr()}})).To(gomega.Succeed())
			release("ready")
			gomega.Expect(l.Timeline).To(fabric.Announced(healthy).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
			gomega.Expect(l.Timeline).To(fabric.NeverAnnounced(waiting4, waiting6).Since(since).For(after))
		})
	l.Step(ctx, "the patch port appears: vm2 is announced, without a sync", lab.Touches(waiting4, waiting6), func(since fabric.Mark) {
		before := n.SyncCount(ctx)
		appear()
		gomega.Expect(l.Timeline).To(fabric.Announced(waiting4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
		gomega.Expect(l.Timeline).To(fabric.Announced(waiting6).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
		gomega.Expect(n.SyncCount(ctx)).To(gomega.Equal(before))
	})
	l.Finish(ctx)
}
