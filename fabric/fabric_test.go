package fabric

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const (
	fabricAS = 65000
	nodeAS   = 64999
)

var (
	fabricV4 = netip.MustParseAddr("127.0.0.1")
	cmp1V4   = netip.MustParseAddr("127.0.0.2")
	cmp2V4   = netip.MustParseAddr("127.0.0.3")
	loopV6   = netip.MustParseAddr("::1")
)

func anyOf(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	must(t, err)
	return a
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func startFabric(t testing.TB, c Config) *Fabric {
	t.Helper()
	c.AS, c.RouterID, c.Log = fabricAS, netip.MustParseAddr("10.255.0.1"), testLog(t)
	f, err := Start(t.Context(), c)
	must(t, err)
	t.Cleanup(f.Stop)
	return f
}

func waitEstablished(t testing.TB, f *Fabric, nodes ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := f.WaitEstablished(ctx, nodes...); err != nil {
		t.Fatalf("%v\n%s", err, f.Timeline())
	}
}

func expect(t testing.TB, f *Fabric, m interface {
	Match(any) (bool, error)
	FailureMessage(any) string
}) {
	t.Helper()
	ok, err := m.Match(f)
	must(t, err)
	if !ok {
		t.Fatal(m.FailureMessage(f))
	}
}

func TestRecordsAnnouncementsOfTwoNodes(t *testing.T) {
	for name, as := range map[string]uint32{"eBGP": nodeAS, "iBGP": fabricAS} {
		t.Run(name, func(t *testing.T) {
			port := freePort(t)
			f := startFabric(t, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, as}, {"cmp2", cmp2V4, as}}})
			cmp1, cmp2 := startSender(t, as), startSender(t, as)
			cmp1.connect(t, port, endpoint{cmp1V4, fabricV4})
			cmp2.connect(t, port, endpoint{cmp2V4, fabricV4})
			waitEstablished(t, f, "cmp1", "cmp2")

			mark := f.Timeline().Now()
			cmp1.announce(t, vm1)
			cmp1.announce(t, vm2)
			cmp2.announce(t, vm1)
			expect(t, f, Announced(vm1).OnlyBy("cmp1", "cmp2").Since(mark).Within(testTimeout))
			expect(t, f, Announced(vm2).OnlyBy("cmp1").Since(mark).Within(testTimeout))
			checkAttributes(t, f, mark, as)

			mark = f.Timeline().Now()
			cmp1.withdraw(t, vm1)
			expect(t, f, Withdrawn(vm1).By("cmp1").Since(mark).Within(testTimeout))
			expect(t, f, Announced(vm1).OnlyBy("cmp2"))
			expect(t, f, Untouched(vm2).Since(mark))
		})
	}
}

func checkAttributes(t *testing.T, f *Fabric, since Mark, as uint32) {
	t.Helper()
	wantPath := []uint32{as}
	if as == fabricAS {
		wantPath = nil
	}
	for _, e := range f.Timeline().Since(since) {
		if !slices.Equal(e.ASPath, wantPath) {
			t.Errorf("%s: AS path %v, want %v", e.Prefix, e.ASPath, wantPath)
		}
		if !slices.Equal(e.Communities, []uint32{65000<<16 | 1}) {
			t.Errorf("%s: communities %v", e.Prefix, e.Communities)
		}
		if !e.NextHop.IsValid() || e.Cause != CauseUpdate {
			t.Errorf("%s: next hop %v, cause %q", e.Prefix, e.NextHop, e.Cause)
		}
	}
}

func TestRecordsARepeatedIdenticalAnnouncement(t *testing.T) {
	port := freePort(t)
	f := startFabric(t, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, nodeAS}}})
	cmp1 := startSender(t, nodeAS)
	cmp1.connect(t, port, endpoint{cmp1V4, fabricV4})
	waitEstablished(t, f, "cmp1")
	cmp1.announce(t, vm1)
	expect(t, f, Announced(vm1).By("cmp1").Within(testTimeout))
	for range 3 {
		mark := f.Timeline().Now()
		cmp1.announceAgain(t)
		expect(t, f, Announced(vm1).By("cmp1").Since(mark).Within(testTimeout))
	}
}

func TestOneNodeWithTwoSessions(t *testing.T) {
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		t.Skip("no IPv6")
	}
	port := freePort(t)
	f := startFabric(t, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, nodeAS}, {"cmp1", loopV6, nodeAS}}})
	v4, v6 := startSender(t, nodeAS), startSender(t, nodeAS)
	v4.connect(t, port, endpoint{cmp1V4, fabricV4})
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Kind == SessionUp })
	if f.Established("cmp1") {
		t.Error("established with one session of two")
	}
	v6.connect(t, port, endpoint{loopV6, loopV6})
	waitEstablished(t, f, "cmp1")

	for _, s := range []*sender{v4, v6} {
		s.announce(t, vm1)
		s.announce(t, vm2)
	}
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == cmp1V4 })
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == loopV6 })
	v4.withdraw(t, vm2)
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Kind == Withdraw && e.Prefix == vm2 })
	expect(t, f, Announced(vm2).OnlyBy("cmp1"))
}

func waitForEvent(t testing.TB, f *Fabric, since Mark, matches func(Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	err := f.Timeline().WaitFor(ctx, func() bool { return slices.ContainsFunc(f.Timeline().Since(since), matches) })
	if err != nil {
		t.Fatalf("no such event: %v\n%s", err, f.Timeline())
	}
}

func TestLostSessionWithdrawsEverything(t *testing.T) {
	port := freePort(t)
	f := startFabric(t, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, nodeAS}}})
	cmp1, again := startSender(t, nodeAS), startSender(t, nodeAS)
	cmp1.connect(t, port, endpoint{cmp1V4, fabricV4})
	waitEstablished(t, f, "cmp1")
	cmp1.announce(t, vm1)
	cmp1.announce(t, vm2)
	expect(t, f, Announced(vm2).By("cmp1").Within(testTimeout))

	mark := f.Timeline().Now()
	cmp1.stop()
	cmp1.stop = func() {}
	waitForEvent(t, f, mark, func(e Event) bool { return e.Kind == SessionDown && e.Source == "cmp1" })
	expect(t, f, Withdrawn(vm1).By("cmp1").Since(mark))
	expect(t, f, Withdrawn(vm2).By("cmp1").Since(mark))
	if f.Established("cmp1") || len(f.Timeline().Routes()) != 0 {
		t.Errorf("established: %t, routes: %v", f.Established("cmp1"), f.Timeline().Routes())
	}
	for _, e := range f.Timeline().Since(mark) {
		if e.Kind == Withdraw && e.Cause != CauseSessionDown {
			t.Errorf("withdrawal of %s has cause %q", e.Prefix, e.Cause)
		}
	}

	// A router accepts the next connection at once.
	began := time.Now()
	again.connect(t, port, endpoint{cmp1V4, fabricV4})
	waitEstablished(t, f, "cmp1")
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the session came back after %s", took)
	}
}

func TestStartRefuses(t *testing.T) {
	good := Config{AS: fabricAS, RouterID: netip.MustParseAddr("10.255.0.1"), Log: testLog(t), Port: freePort(t)}
	tests := map[string]func(*Config){
		"no AS":             func(c *Config) { c.AS = 0 },
		"no logger":         func(c *Config) { c.Log = nil },
		"IPv6 router-id":    func(c *Config) { c.RouterID = loopV6 },
		"peer without name": func(c *Config) { c.Peers = []Peer{{"", cmp1V4, nodeAS}} },
		"one address twice": func(c *Config) { c.Peers = []Peer{{"cmp1", cmp1V4, nodeAS}, {"cmp2", cmp1V4, nodeAS}} },
		"no such namespace": func(c *Config) { c.NetNS = 1 << 20 },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			c := good
			spoil(&c)
			if f, err := Start(t.Context(), c); err == nil {
				f.Stop()
				t.Error("started")
			}
		})
	}
}

func TestStopFreesThePort(t *testing.T) {
	port := freePort(t)
	for range 3 {
		f := startFabric(t, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, nodeAS}}})
		cmp1 := startSender(t, nodeAS)
		cmp1.connect(t, port, endpoint{cmp1V4, fabricV4})
		waitEstablished(t, f, "cmp1")
		f.Stop()
		f.Stop()
		cmp1.stop()
		cmp1.stop = func() {}
	}
}

// BenchmarkRecord5000Routes measures from the request to send everything again to
// the record of the last route.
func BenchmarkRecord5000Routes(b *testing.B) {
	const routes = 5000
	port := freePort(b)
	f := startFabric(b, Config{Port: port, Peers: []Peer{{"cmp1", cmp1V4, nodeAS}}})
	cmp1 := startSender(b, nodeAS)
	cmp1.connect(b, port, endpoint{cmp1V4, fabricV4})
	waitEstablished(b, f, "cmp1")
	address := netip.MustParseAddr("10.0.0.0")
	for range routes {
		address = address.Next()
		cmp1.announce(b, netip.PrefixFrom(address, 32))
	}
	waitForEvents(b, f, Mark{}, routes)
	for b.Loop() {
		mark := f.Timeline().Now()
		cmp1.announceAgain(b)
		waitForEvents(b, f, mark, routes)
	}
}

func waitForEvents(b *testing.B, f *Fabric, since Mark, updates int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), testTimeout)
	defer cancel()
	err := f.Timeline().WaitFor(ctx, func() bool { return len(f.Timeline().Since(since)) >= updates })
	if err != nil {
		b.Fatalf("%d of %d updates: %v", len(f.Timeline().Since(since)), updates, err)
	}
}
