package scenarios

import (
	"context"
	"fmt"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/scenarios/lab"
	"ovn-bgp-agent/sim/cloud"
	"ovn-bgp-agent/sim/ovsdb"
)

// oddRow is a port with something wrong in its row.
type oddRow struct {
	name      string
	columns   func(logicalSwitch string) ovsdb.Row
	announced []netip.Prefix
	log       string // what the agent says about it, once; "" for nothing
}

func addresses(entries ...string) func(string) ovsdb.Row {
	return func(string) ovsdb.Row { return ovsdb.Row{"addresses": entries} }
}

func host(text string) netip.Prefix {
	a := netip.MustParseAddr(text)
	return netip.PrefixFrom(a, a.BitLen())
}

var oddRows = []oddRow{
	{"no-addresses", addresses(), nil, "addresses is empty"},
	{"unknown", func(logicalSwitch string) ovsdb.Row {
		return ovsdb.Row{"addresses": []string{"unknown"}, "external_ids": map[string]string{"neutron:network_name": logicalSwitch}}
	}, nil, "neutron:cidrs names no address"},
	{"unparsable", addresses("fa:16:3e:00:01:01 172.24.4.300"), nil, "172.24.4.300"},
	{"half-unparsable", addresses("fa:16:3e:00:01:02 172.24.4.301 172.24.4.31"), []netip.Prefix{host("172.24.4.31")}, "172.24.4.301"},
	{"two-macs", addresses("00:11:22:33:44:55 172.24.4.32", "fa:16:3e:00:01:03 172.24.4.33"), []netip.Prefix{host("172.24.4.32"), host("172.24.4.33")}, ""},
	{"upper-case", addresses("FA:16:3E:00:01:04 2001:DB8:0:0::34"), []netip.Prefix{host("2001:db8::34")}, ""},
	{"no-external-ids", func(string) ovsdb.Row { return ovsdb.Row{"external_ids": map[string]string{}} }, nil, "external_ids has no neutron:network_name"},
	{"up-unset", func(string) ovsdb.Row { return ovsdb.Row{"up": []bool{}} }, nil, "the port is not up"},
	{"unknown-host", func(string) ovsdb.Row {
		return ovsdb.Row{"options": map[string]string{"requested-chassis": "nowhere"}}
	}, nil, "no longer to be exposed"},
	{"loopback", addresses("fa:16:3e:00:01:05 127.0.0.1"), nil, "127.0.0.1 must not be announced"},
}

func playOddRows(ctx context.Context, l *lab.Lab) {
	l.Step(ctx, "a healthy VM runs", lab.Touches(vm1v4, vm1v6), func(since fabric.Mark) {
		Expect(l.Cloud.CreateNetwork(ctx, provider("net1", 0))).To(Succeed())
		Expect(l.Cloud.BootVM(ctx, vm("vm1", "net1", vm1v4, vm1v6))).To(Succeed())
		Expect(l.Timeline).To(fabric.Announced(vm1v4).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	})
	said := map[string]int{} // lines about each odd row, when all has been said
	for i, odd := range oddRows {
		before := host(fmt.Sprintf("172.24.4.%d", 100+i))
		l.Step(ctx, odd.name+" boots and its row becomes odd", lab.Touches(append([]netip.Prefix{before}, odd.announced...)...), func(since fabric.Mark) {
			Expect(l.Cloud.BootVM(ctx, vm(odd.name, "net1", before))).To(Succeed())
			Expect(l.Timeline).To(fabric.Announced(before).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
			said[odd.name] = linesAbout(l, odd) + 1
			playOddRow(ctx, l, odd, before, since)
		})
		expectSaid(l, odd, said)
	}
	By("two syncs say nothing new about any of them")
	l.Only().Sync(ctx)
	l.Only().Sync(ctx)
	for _, odd := range oddRows {
		expectSaid(l, odd, said)
	}
	if l.Ours {
		Expect(l.Only().LinesAbout("Incorrect bridge mapping settings: broken", "")).To(HaveLen(1))
		Expect(l.Only().LinesAbout("br-gone", "has no device in the kernel")).To(HaveLen(1))
	}
}

func playOddRow(ctx context.Context, l *lab.Lab, odd oddRow, before netip.Prefix, since fabric.Mark) {
	columns := odd.columns(l.Cloud.LogicalSwitch("net1"))
	Expect(l.Cloud.SetPort(ctx, odd.name, func(r *cloud.PortRows) { r.NB, r.Expect = columns, texts(odd.announced) })).To(Succeed())
	Expect(l.Timeline).To(fabric.Withdrawn(before).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	for _, p := range odd.announced {
		Expect(l.Timeline).To(fabric.Announced(p).By("cmp1").Since(since).Within(lab.SoonAfter(since)))
	}
}

// linesAbout counts what the agent has logged about an odd row.
func linesAbout(l *lab.Lab, odd oddRow) int {
	return len(l.Only().LinesAbout(l.Cloud.PortID(odd.name), odd.log))
}

func expectSaid(l *lab.Lab, odd oddRow, said map[string]int) {
	GinkgoHelper()
	if odd.log != "" && l.Ours {
		Expect(linesAbout(l, odd)).To(Equal(said[odd.name]), "one clear line about "+odd.name)
	}
}

func texts(prefixes []netip.Prefix) []string {
	var list []string
	for _, p := range prefixes {
		list = append(list, p.Addr().String())
	}
	return list
}
