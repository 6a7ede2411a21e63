package scenarios

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
	"ovn-bgp-agent/sim/cloud"
)

var (
	vm1v4 = netip.MustParsePrefix("172.24.4.10/32")
	vm1v6 = netip.MustParsePrefix("2001:db8::10/128")
	vm2v4 = netip.MustParsePrefix("172.24.4.11/32")
)

func provider(name string, vlan int) cloud.ProviderNetwork {
	return cloud.ProviderNetwork{Name: name, Physnet: "public", VLAN: vlan, Subnets: []netip.Prefix{
		netip.MustParsePrefix("172.24.4.0/24"), netip.MustParsePrefix("2001:db8::/64"),
	}}
}

func vm(name, network string, addresses ...netip.Prefix) cloud.VM {
	v := cloud.VM{Name: name, Network: network, Host: "cmp1"}
	for _, a := range addresses {
		v.Addresses = append(v.Addresses, a.Addr())
	}
	return v
}

var _ = Describe("scenario 2", func() {
	for _, driver := range []struct{ name, option string }{{"NB driver", lab.NB}, {"SB driver", lab.SB}} {
		for _, net := range []struct {
			name string
			vlan int
		}{{"flat", 0}, {"VLAN 1001", 1001}} {
			It("VM booted on a provider network, "+driver.name+", "+net.name, lab.Limit, func(ctx context.Context) {
				l := lab.New(ctx, lab.Options{Driver: driver.option})
				l.StartAgents(ctx)
				playProviderVM(ctx, l, net.vlan)
				l.Finish(ctx)
			})
		}
	}

	It("odd rows beside a healthy VM, NB driver", lab.Limit, func(ctx context.Context) {
		l := lab.New(ctx, lab.Options{Driver: lab.NB, MoreMappings: "broken,gone:br-gone"})
		l.StartAgents(ctx)
		playOddRows(ctx, l)
		l.Finish(ctx)
	})
})

// playProviderVM boots, restarts and deletes VMs as the seed's second scenario does.
func playProviderVM(ctx context.Context, l *lab.Lab, vlan int) {
	n := l.Only()
	l.Step(ctx, "Neutron makes the provider network", lab.Nothing(), func(fabric.Mark) {
		Expect(l.Cloud.CreateNetwork(ctx, provider("net1", vlan))).To(Succeed())
	})
	wired := n.State(ctx)

	l.Step(ctx, "vm1 boots: LSP added, bound, up", lab.Touches(vm1v4, vm1v6), func(since fabric.Mark) {
		Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4, vm1v6))).To(Succeed())
		Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
		Expect(l.Timeline).To(fabric.Announced(vm1v6).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	n.ExpectProviderVM(ctx, lab.ProviderVM{
		Localnet: l.Cloud.LocalnetPort("net1"), VLAN: vlan, MAC: l.Cloud.MAC("vm1"), Addresses: []netip.Prefix{vm1v4, vm1v6},
	})

	l.Step(ctx, "vm2 boots beside it", lab.Touches(vm2v4), func(since fabric.Mark) {
		Expect(l.Cloud.BootVM(ctx, vm("vm2", "net1", vm2v4))).To(Succeed())
		Expect(l.Timeline).To(fabric.Announced(vm2v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	l.Step(ctx, "vm2 stops: up becomes false", lab.Touches(vm2v4), func(since fabric.Mark) {
		Expect(l.Cloud.StopVM(ctx, "vm2")).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm2v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	l.Step(ctx, "vm2 starts again", lab.Touches(vm2v4), func(since fabric.Mark) {
		Expect(l.Cloud.StartVM(ctx, "vm2")).To(Succeed())
		Expect(l.Timeline).To(fabric.Announced(vm2v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	l.Step(ctx, "vm2 is deleted while vm1 stays", lab.Touches(vm2v4), func(since fabric.Mark) {
		Expect(l.Cloud.DeleteVM(ctx, "vm2")).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm2v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	l.Step(ctx, "vm1 is deleted: withdrawn first, then unwired", lab.Touches(vm1v4, vm1v6), func(since fabric.Mark) {
		Expect(l.Cloud.DeleteVM(ctx, "vm1")).To(Succeed())
		Expect(l.Timeline).To(fabric.Withdrawn(vm1v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
		Expect(l.Timeline).To(fabric.Withdrawn(vm1v6).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	n.ExpectState(ctx, wired, "the base state with the network's VLAN device, and nothing of the VMs")
}
