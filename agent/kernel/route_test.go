package kernel

import (
	"testing"

	"ovn-bgp-agent/agent/node"
)

// TestRouteReplaced: a route with the same table, destination and metric gives way.
func TestRouteReplaced(t *testing.T) {
	key4 := node.Route{Table: table, Dst: prefix("10.1.0.0/16")}
	key6 := node.Route{Table: table, Dst: prefix("2001:db8:1::/64"), Metric: node.MetricIPv6}
	other4, other6, static := link4, device6, link4
	other4.Dev, other6.Dev, static.Proto = bigBridge, bigBridge, 4
	for name, test := range map[string]struct {
		key     node.Key
		old     node.Value
		command string // makes the old one when it is not for us to make
		value   node.RouteSpec
	}{
		"IPv4 device":                {key: key4, old: other4, value: link4},
		"IPv4 protocol":              {key: key4, old: static, value: link4},
		"IPv4 gateway by device":     {key: key4, old: via4, value: link4},
		"IPv4 device by gateway":     {key: key4, old: link4, value: via4},
		"IPv6 device":                {key: key6, old: other6, value: device6},
		"IPv6 gateway by device":     {key: key6, old: via6, value: device6},
		"IPv6 device by gateway":     {key: key6, old: device6, value: via6},
		"IPv4 several next hops":     {key: key4, command: "route add table 201 10.1.0.0/16 nexthop dev br-ex nexthop dev br-big", value: link4},
		"IPv6 several next hops":     {key: key6, command: "-6 route add table 201 2001:db8:1::/64 nexthop via 2001:db8:ffff::1 dev br-ex nexthop via 2001:db8:ffff::2 dev br-ex", value: device6},
		"IPv4 route behind another":  {key: key4, command: "route append 10.1.0.0/16 dev br-ex table 201", old: other4, value: link4},
		"IPv6 by one with next hops": {key: key6, command: "-6 route append 2001:db8:1::/64 via 2001:db8:ffff::2 dev br-ex table 201", old: via6, value: via6},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.apply(makeStep(default4, link4), makeStep(default6, device6))
			before := l.state()
			if test.old != nil {
				l.apply(makeStep(test.key, test.old))
			}
			if test.command != "" {
				l.ip(test.command)
			}
			l.apply(node.Step{Op: node.Make, Key: test.key, Value: test.value, Old: l.state()[test.key]})
			l.expect(plus(before, test.key, test.value))
			l.apply(removeStep(test.key, test.value))
			l.expect(before)
		})
	}
}

// TestRemoveExactlyThatRoute: those that differ in one respect stay.
func TestRemoveExactlyThatRoute(t *testing.T) {
	l := newLab(t)
	l.apply(makeStep(default4, link4), makeStep(default6, device6))
	for _, route := range []string{
		"10.1.0.0/16 via 198.51.100.1 dev br-ex table 201 metric 5",
		"10.1.0.0/16 dev br-ex scope link table 201 metric 6",
		"10.1.0.0/16 dev br-ex scope link table 100201",
		"10.1.0.0/17 dev br-ex scope link table 201",
		"10.1.0.0/16 dev br-ex scope link",
		"2001:db8:1::/64 dev br-ex table 201 metric 6",
		"2001:db8:1::/64 dev br-ex table 100201",
	} {
		l.ip("route add " + route)
	}
	before := l.state()
	shown := func() string {
		return l.ip("route show table all proto boot") + l.ip("-6 route show table all proto boot")
	}
	text := shown()
	for _, want := range []node.Want{
		{Key: node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, Value: via4},
		{Key: node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, Value: link4},
		{Key: node.Route{Table: table, Dst: prefix("2001:db8:1::/64"), Metric: 1024}, Value: device6},
		{Key: node.Route{Table: bigTable, Dst: prefix("10.1.0.0/17")}, Value: link4},
	} {
		l.apply(makeStep(want.Key, want.Value), removeStep(want.Key, want.Value))
		l.expect(before)
		if now := shown(); now != text {
			t.Errorf("after making and removing %s: routes\n%s\nwere\n%s", want.Key, now, text)
		}
	}
	// One with another scope, protocol or device is not the one that is meant.
	for _, old := range []node.RouteSpec{
		{Dev: bridge, Scope: node.ScopeUniverse, Proto: node.ProtoBoot},
		{Dev: bridge, Scope: node.ScopeLink, Proto: 4},
		{Dev: bigBridge, Scope: node.ScopeLink, Proto: node.ProtoBoot},
	} {
		l.apply(removeStep(node.Route{Table: bigTable, Dst: prefix("10.1.0.0/16")}, old))
		l.expect(before)
	}
}

// TestRemoveExactlyThatAddress: another prefix length is another address.
func TestRemoveExactlyThatAddress(t *testing.T) {
	l := newLab(t)
	l.apply(
		makeStep(node.Address{Dev: bridge, Prefix: prefix("10.1.0.1/24")}, present),
		makeStep(node.Address{Dev: bridge, Prefix: prefix("2001:db8::1/64")}, present),
	)
	before := l.state()
	l.apply(
		removeStep(node.Address{Dev: bridge, Prefix: prefix("10.1.0.1/32")}, present),
		removeStep(node.Address{Dev: bridge, Prefix: prefix("2001:db8::1/128")}, present),
	)
	l.expect(before)
}
