package scenarios

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
)

var _ = Describe("ground", func() {
	It("an address put on the dummy by hand reaches the fabric, without an agent", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB})
		n := l.Only()
		for _, command := range []string{
			"ip link add bgp-vrf type vrf table 10",
			"ip link set bgp-vrf up",
			"ip link add bgp-nic type dummy",
			"ip link set bgp-nic master bgp-vrf up",
			"vtysh -c 'configure terminal' -c 'router bgp 64999' -c 'address-family ipv4 unicast' -c 'import vrf bgp-vrf' " +
				"-c 'exit' -c 'address-family ipv6 unicast' -c 'import vrf bgp-vrf'",
			"vtysh -c 'configure terminal' -c 'router bgp 64999 vrf bgp-vrf' -c 'bgp router-id 172.24.4.1' " +
				"-c 'address-family ipv4 unicast' -c 'redistribute connected' -c 'exit' -c 'address-family ipv6 unicast' -c 'redistribute connected'",
		} {
			n.Must(ctx, "sh", "-c", command)
		}
		mark := l.Timeline.Now()
		n.Must(ctx, "ip", "addr", "add", vm1v4.String(), "dev", "bgp-nic")
		n.Must(ctx, "ip", "addr", "add", vm1v6.String(), "dev", "bgp-nic")
		Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(mark).Within(lab.SoonAfter(mark)))
		Expect(l.Timeline).To(fabric.Announced(vm1v6).By("cmp1").Since(mark).Within(lab.SoonAfter(mark)))

		mark = l.Timeline.Now()
		n.Must(ctx, "ip", "addr", "del", vm1v4.String(), "dev", "bgp-nic")
		Expect(l.Timeline).To(fabric.Withdrawn(vm1v4).By("cmp1").Since(mark).Within(lab.SoonAfter(mark)))
		Expect(l.Timeline).To(fabric.NeverWithdrawn(vm1v6).Since(mark))

		mark = l.Timeline.Now()
		Expect(n.FRR("bgpd").Kill()).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm1v6).By("cmp1").Since(mark).Within(lab.Start))
	})
})
