package scenarios

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
)

var _ = Describe("figures", func() {
	It("how long a row's change takes to the VRF and to the fabric, NB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB})
		l.StartAgents(ctx)
		n := l.Only()
		Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 0))).To(Succeed())
		Expect(l.Cloud.BootVM(ctx, vm("vm0", "net1", vm1v4))).To(Succeed())
		n.Settled(ctx)

		var toVRF, toFabric []time.Duration
		for i := range 20 {
			prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 24, 4, byte(100 + i)}), 32)
			name := fmt.Sprint("vm", i+1)
			Expect(l.Cloud.CreatePort(ctx, vm(name, "net1", prefix))).To(Succeed())
			Expect(l.Cloud.BindPort(ctx, name, "cmp1")).To(Succeed())
			n.Settled(ctx)
			since, entries := l.Timeline.Now(), n.Journal.Now()
			start := time.Now()
			Expect(l.Cloud.PortUp(ctx, name)).To(Succeed())
			Expect(l.Timeline).To(fabric.Announced(prefix).By("cmp1").Since(since).Within(lab.Start))
			toFabric = append(toFabric, l.Timeline.Since(since)[0].Time.Sub(start))
			toVRF = append(toVRF, n.Appeared(ctx, entries, prefix).Sub(start))
		}
		report := fmt.Sprintf("up=true committed → address in the VRF: %s; → UPDATE at the fabric: %s; RSS of the agent: %s",
			spread(toVRF), spread(toFabric), n.AgentRSS())
		AddReportEntry("figures", report)
		GinkgoWriter.Println(report)
	})
})

func spread(d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("median %v (%v … %v)", d[len(d)/2].Round(100*time.Microsecond), d[0].Round(100*time.Microsecond), d[len(d)-1].Round(100*time.Microsecond))
}
