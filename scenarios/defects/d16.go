package defects

import (
	"context"
	"net/netip"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
	"ovn-bgp-agent/sim/cloud"
)

var _ = ginkgo.Describe("D16", func() {
	ginkgo.It("the first wiring after the start uses the bridge's routing table, NB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB, RTTables: "255\tlocal\n254\tmain\n201 br-ex\n"})
		n := l.Only()
		l.Step(ctx, "a VM runs before the agent starts", lab.Effects{Down: true}, func(fabric.Mark) {
			l.CreateNetwork(ctx, cloud.ProviderNetwork{Name: "net1", Physnet: "public", Subnets: []netip.Prefix{netip.MustParsePrefix("172.24.4.0/24")}})
			gomega.Expect(l.Cloud.BootVM(ctx, cloud.VM{Name: "vm1", Network: "net1", Host: "cmp1", Addresses: []netip.Addr{healthy.Addr()}})).To(gomega.Succeed())
		})
		l.Step(ctx, "the agent starts: the VM is announced by its first wiring", lab.Touches(healthy), func(since fabric.Mark) {
			l.StartAgents(ctx)
			gomega.Expect(l.Timeline).To(fabric.Announced(healthy).By("cmp1").Since(since).Within(lab.Start))
		})
		gomega.Expect(n.Must(ctx, "ip", "-N", "rule", "show", "priority", "32000")).To(gomega.ContainSubstring("from all to 172.24.4.13 lookup 201"))
		gomega.Expect(n.Must(ctx, "ip", "-N", "route", "show", "table", "201")).To(gomega.ContainSubstring("172.24.4.13 dev br-ex"))
		l.Finish(ctx)
	})
})
