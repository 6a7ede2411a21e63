package kernel

import (
	"context"
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ovn-bgp-agent/agent/node"
)

var (
	link4    = node.RouteSpec{Dev: bridge, Scope: node.ScopeLink, Proto: node.ProtoBoot}
	device6  = node.RouteSpec{Dev: bridge, Proto: node.ProtoBoot}
	present  = node.Present{}
	default4 = node.Route{Table: table, Dst: prefix("0.0.0.0/0")}
	default6 = node.Route{Table: table, Dst: prefix("::/0"), Metric: node.MetricIPv6}
)

// TestRoundTrip: what is made is read exactly so; making it again changes nothing;
// removing it leaves what was before; removing it again is no error.
func TestRoundTrip(t *testing.T) {
	big := link4
	big.Dev = bigBridge
	for name, test := range map[string]struct {
		key   node.Key
		value node.Value
	}{
		"address IPv4":                {node.Address{Dev: bridge, Prefix: prefix("169.254.1.1/32")}, present},
		"address IPv4 with network":   {node.Address{Dev: bridge, Prefix: prefix("10.9.8.7/24")}, present},
		"address IPv6":                {node.Address{Dev: bridge, Prefix: prefix("fd53:d91e:400:7f17::1:1/128")}, present},
		"announcement IPv4":           {node.Announcement{Prefix: prefix("172.24.4.10/32")}, present},
		"announcement IPv6":           {node.Announcement{Prefix: prefix("2001:db8::10/128")}, present},
		"rule IPv4":                   {node.Rule{Dst: prefix("172.24.4.10/32"), Table: table}, present},
		"rule IPv4 with host bits":    {node.Rule{Dst: prefix("10.0.0.1/24"), Table: table}, present},
		"rule IPv6":                   {node.Rule{Dst: prefix("2001:db8::10/128"), Table: table}, present},
		"rule IPv6 with host bits":    {node.Rule{Dst: prefix("2001:db8::1/64"), Table: table}, present},
		"rule IPv4-mapped":            {node.Rule{Dst: prefix("::ffff:10.0.0.1/128"), Table: table}, present},
		"rule, table above 255":       {node.Rule{Dst: prefix("172.24.4.10/32"), Table: bigTable}, present},
		"neighbour IPv4":              {node.Neighbour{Dev: bridge, IP: addr("172.24.4.10")}, "fa:16:3e:00:00:0a"},
		"neighbour IPv6":              {node.Neighbour{Dev: bridge, IP: addr("2001:db8::10")}, "fa:16:3e:00:00:0a"},
		"route IPv4":                  {node.Route{Table: table, Dst: prefix("172.24.4.10/32")}, link4},
		"route IPv4 with metric":      {node.Route{Table: table, Dst: prefix("172.24.4.10/32"), Metric: 7}, link4},
		"route IPv4 via gateway":      {node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, via4},
		"route IPv4 proto static":     {node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, node.RouteSpec{Dev: bridge, Scope: node.ScopeLink, Proto: 4}},
		"route IPv4 scope global":     {node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, node.RouteSpec{Dev: bridge, Proto: node.ProtoBoot}},
		"route IPv4, table above 255": {node.Route{Table: bigTable, Dst: prefix("172.24.4.10/32")}, big},
		"route IPv4 via IPv6 gateway": {node.Route{Table: table, Dst: prefix("10.2.0.0/16")}, node.RouteSpec{Dev: bridge, Gateway: addr("fe80::1"), Proto: node.ProtoBoot}},
		"route IPv6":                  {node.Route{Table: table, Dst: prefix("2001:db8::10/128"), Metric: node.MetricIPv6}, device6},
		"route IPv6 via gateway":      {node.Route{Table: table, Dst: prefix("2001:db8:1::/64"), Metric: node.MetricIPv6}, via6},
		"route IPv6 with metric":      {node.Route{Table: table, Dst: prefix("2001:db8::/64"), Metric: 5}, device6},
		"route IPv4-mapped":           {node.Route{Table: table, Dst: prefix("::ffff:10.0.0.1/128"), Metric: node.MetricIPv6}, device6},
		"route of bgp_vrf":            {node.Route{Table: vrfTable, Dst: prefix("10.3.0.0/16")}, node.RouteSpec{Dev: bgpNIC, Scope: node.ScopeLink, Proto: node.ProtoBoot}},
		"proxy":                       {node.Proxy{Dev: bridge, IP: addr("2001:db8::")}, present},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.apply(makeStep(default4, link4), makeStep(default6, device6))
			before := l.state()

			l.apply(makeStep(test.key, test.value))
			after := plus(before, test.key, test.value)
			l.expect(after)
			l.apply(makeStep(test.key, test.value))
			l.expect(after)
			l.apply(removeStep(test.key, test.value))
			l.expect(before)
			l.apply(removeStep(test.key, test.value))
			l.expect(before)
		})
	}
}

var (
	via4 = node.RouteSpec{Dev: bridge, Gateway: addr("198.51.100.1"), Proto: node.ProtoBoot}
	via6 = node.RouteSpec{Dev: bridge, Gateway: addr("2001:db8:ffff::1"), Proto: node.ProtoBoot}
)

// TestAppliedDifferenceIsReadBack: for random wishes one after another in one
// namespace, nothing differs after the difference was applied.
func TestAppliedDifferenceIsReadBack(t *testing.T) {
	l := newLab(t)
	base := node.State{default4: link4, default6: device6}
	goTo := func(t *rapid.T, wish node.State) {
		var desired node.Desired
		desired.Set("test", wants(wish))
		own := func(key node.Key, _ node.Value) bool { return key.Kind() >= node.KindAddress }
		actual := l.state()
		for _, r := range node.Execute(node.Diff(actual, &desired, node.AllKeys(actual, &desired), own), func(s node.Step) error {
			return l.Apply(context.Background(), s)
		}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		got := maps.Clone(l.state())
		maps.DeleteFunc(got, func(key node.Key, value node.Value) bool { return !own(key, value) })
		if d := cmp.Diff(wish, got, comparable...); d != "" {
			t.Fatalf("state (-want +got):\n%s", d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 2 {
			wish := maps.Clone(base)
			for _, w := range rapid.SliceOfN(anyWant, 0, 12).Draw(t, "wants") {
				wish[w.Key] = w.Value
			}
			goTo(t, wish)
		}
		goTo(t, node.State{})
	})
}

func wants(s node.State) (wants []node.Want) {
	for key, value := range s {
		wants = append(wants, node.Want{Key: key, Value: value})
	}
	return wants
}

// anyWant is an object of a VM: addresses from few, so that they meet.
var anyWant = rapid.Custom(func(t *rapid.T) node.Want {
	last := rapid.ByteRange(2, 6).Draw(t, "last")
	ip, metric := netip.AddrFrom4([4]byte{172, 24, 4, last}), uint32(0)
	scope := rapid.SampledFrom([]uint8{node.ScopeLink, node.ScopeUniverse}).Draw(t, "scope")
	bits := rapid.IntRange(24, 32).Draw(t, "bits")
	if rapid.Bool().Draw(t, "IPv6") {
		ip = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: last})
		metric, scope, bits = node.MetricIPv6, 0, 96+bits
	}
	host := node.HostPrefix(ip)
	lookup := rapid.SampledFrom([]uint32{table, bigTable}).Draw(t, "table")
	dev := rapid.SampledFrom([]string{bridge, bigBridge}).Draw(t, "dev")
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return node.Want{Key: node.Address{Dev: bridge, Prefix: host}, Value: present}
	case 1:
		return node.Want{Key: node.Announcement{Prefix: host}, Value: present}
	case 2:
		return node.Want{Key: node.Rule{Dst: netip.PrefixFrom(ip, bits), Table: lookup}, Value: present}
	case 3:
		mac := rapid.SampledFrom([]string{"fa:16:3e:00:00:01", "fa:16:3e:00:00:02"}).Draw(t, "mac")
		return node.Want{Key: node.Neighbour{Dev: bridge, IP: ip}, Value: mac}
	case 4:
		return node.Want{Key: node.Proxy{Dev: bridge, IP: netip.AddrFrom16([16]byte{0x20, 1, 15: last})}, Value: present}
	default:
		key := node.Route{Table: lookup, Dst: netip.PrefixFrom(ip, bits).Masked(), Metric: metric + uint32(rapid.IntRange(0, 1).Draw(t, "metric"))}
		spec := node.RouteSpec{Dev: dev, Scope: scope, Proto: rapid.SampledFrom([]uint8{node.ProtoBoot, 4}).Draw(t, "proto")}
		if lookup == table && dev == bridge && rapid.Bool().Draw(t, "gateway") {
			spec.Gateway, spec.Scope = via4.Gateway, 0
			if ip.Is6() {
				spec.Gateway = via6.Gateway
			}
		}
		return node.Want{Key: key, Value: spec}
	}
})
