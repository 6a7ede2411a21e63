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

var vm3v4 = netip.MustParsePrefix("172.24.4.12/32")

var _ = Describe("scenario 1", func() {
	It("bgpd and the database go away and come back, NB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB})
		l.StartAgents(ctx)
		l.Step(ctx, "two VMs run", lab.Touches(vm1v4, vm2v4), func(fabric.Mark) {
			Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 0))).To(Succeed())
			Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4))).To(Succeed())
			Expect(l.Cloud.BootVM(ctx, vm("vm2", "net1", vm2v4))).To(Succeed())
		})
		playFRRRestart(ctx, l)
		playDatabaseOutage(ctx, l)
		l.Finish(ctx)
	})
})

// playFRRRestart restarts bgpd with the configuration on disk, which has no leak.
func playFRRRestart(ctx context.Context, l *lab.Lab) {
	n := l.Only()
	entries := n.Journal.Now()
	l.Step(ctx, "bgpd is killed and started again: all is withdrawn once and announced once", lab.Touches(vm1v4, vm2v4), func(since fabric.Mark) {
		Expect(n.FRR("bgpd").Kill()).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm1v4).By("cmp1").Since(since).Within(lab.Start))
		Expect(n.RestartFRR(ctx, "bgpd", true)).To(Succeed())
		back := l.Timeline.Now()
		for _, p := range []netip.Prefix{vm1v4, vm2v4} {
			Expect(l.Timeline).To(fabric.Announced(p).By("cmp1").Since(back).Within(lab.Start))
			Expect(l.Timeline).To(fabric.NeverWithdrawn(p).Since(back))
		}
		up, announced := l.Timeline.Since(back)[0].Time, l.Timeline.Since(back)[len(l.Timeline.Since(back))-1].Time
		AddReportEntry("figures", "first to last message after bgpd's return: "+announced.Sub(up).Round(time.Millisecond).String())
	})
	Expect(n.Journal.Writes(entries, journal.Configured())).To(BeEmpty(), "the kernel's state was not touched")
}

// playDatabaseOutage cuts the Northbound database off while rows change.
func playDatabaseOutage(ctx context.Context, l *lab.Lab) {
	n := l.Only()
	syncs := n.SyncCount(ctx)
	l.Step(ctx, "the Northbound database is cut off, and rows change meanwhile: the fabric hears nothing", lab.Effects{Down: true}, func(since fabric.Mark) {
		Expect(l.NBProxy.Refuse()).To(Succeed())
		l.NBProxy.Cut()
		Expect(l.Cloud.DeleteVM(ctx, "vm2")).To(Succeed())
		Expect(l.Cloud.BootVM(ctx, vm("vm3", "net1", vm3v4))).To(Succeed())
		Expect(l.Timeline).To(fabric.Untouched().Since(since).For(time.Second))
	})
	l.Step(ctx, "it is back: what differs is changed, and nothing else", lab.Touches(vm2v4, vm3v4), func(since fabric.Mark) {
		Expect(l.NBProxy.Accept()).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm2v4).By("cmp1").Since(since).Within(lab.Start))
		Expect(l.Timeline).To(fabric.Announced(vm3v4).By("cmp1").Since(since).Within(lab.Start))
	})
	if l.Ours {
		Expect(n.SyncCount(ctx)).To(Equal(syncs+1), "one full sync for one download")
		Expect(n.LinesAbout("Connection to OVSDB established", "doing a full sync")).To(HaveLen(1))
	}
}
