package kernel

import (
	"context"
	"net/netip"
	"testing"

	"ovn-bgp-agent/agent/node"
)

const benchmarkVMs = 1000

// vm is what one address of a provider network needs.
func vm(n int) []node.Want {
	ip := netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)})
	return []node.Want{
		{Key: node.Rule{Dst: node.HostPrefix(ip), Table: table}, Value: present},
		{Key: node.Neighbour{Dev: bridge, IP: ip}, Value: "fa:16:3e:00:00:0a"},
		{Key: node.Route{Table: table, Dst: node.HostPrefix(ip)}, Value: link4},
		{Key: node.Announcement{Prefix: node.HostPrefix(ip)}, Value: present},
	}
}

func applyAll(b *testing.B, l *lab, op node.Op, wants []node.Want) {
	for _, w := range wants {
		step := node.Step{Op: op, Key: w.Key, Value: w.Value}
		if op == node.Remove {
			step.Value, step.Old = nil, w.Value
		}
		if err := l.Apply(context.Background(), step); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVM makes and removes what one address needs, among 1,000 others.
func BenchmarkVM(b *testing.B) {
	l := newLab(b)
	for n := range benchmarkVMs {
		applyAll(b, l, node.Make, vm(n))
	}
	b.ResetTimer()
	for range b.N {
		applyAll(b, l, node.Make, vm(benchmarkVMs))
		b.StopTimer()
		applyAll(b, l, node.Remove, vm(benchmarkVMs))
		b.StartTimer()
	}
}

// BenchmarkRead reads the objects of 1,000 addresses.
func BenchmarkRead(b *testing.B) {
	l := newLab(b)
	for n := range benchmarkVMs {
		applyAll(b, l, node.Make, vm(n))
	}
	b.ResetTimer()
	for range b.N {
		state, _, err := l.Read(context.Background(), l.scope)
		if err != nil {
			b.Fatal(err)
		}
		if len(state) < 4*benchmarkVMs {
			b.Fatalf("%d objects", len(state))
		}
	}
}
