package kernel

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

const (
	bridge    = "br-ex"
	bigBridge = "br-big"
	bgpNIC    = "bgp-nic"
	bgpVRF    = "bgp-vrf"

	table    = 201
	bigTable = 100201
	vrfTable = 10
)

const rtTablesText = "255\tlocal\n254\tmain\n201 br-ex\n100201 br-big\n"

// lab is a private network namespace on the test's own thread.
type lab struct {
	*Kernel
	t     *testing.T
	dir   string
	scope Scope
}

// newLab makes a namespace with two provider bridges and a device for the
// announcements, all up, and bridges that stand for Open vSwitch's.
func newLab(t testing.TB) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a network namespace needs root")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	ns, err := netns.New()
	if err != nil {
		t.Skipf("this kernel cannot make a network namespace: %v", err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	dir := t.TempDir()
	rtTables := filepath.Join(dir, "rt_tables")
	if err := os.WriteFile(rtTables, []byte(rtTablesText), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &lab{dir: dir, scope: Scope{
		BGPNIC: bgpNIC, BGPVRF: bgpVRF, BGPVRFTable: vrfTable, Bridges: []string{bridge}, NamedTables: []string{bigBridge},
	}}
	l.t, _ = t.(*testing.T)
	for _, name := range []string{bridge, bigBridge, bgpNIC} {
		link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
		if err := netlink.LinkAdd(link); err != nil {
			t.Fatalf("add bridge %s: %v", name, err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			t.Fatal(err)
		}
		// With the last IPv4 address of a device the kernel takes its IPv4 routes
		// and neighbours away.
		stays := &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, byte(link.Index)), Mask: net.CIDRMask(24, 32)}, Scope: unix.RT_SCOPE_LINK}
		if err := netlink.AddrAdd(link, stays); err != nil {
			t.Fatal(err)
		}
	}
	l.Kernel, err = Open(Config{RTTables: rtTables, ProcSys: "/proc/sys", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if _, _, err := l.Read(context.Background(), l.scope); err != nil {
		t.Fatal(err)
	}
	return l
}

// ip runs ip(8) in the namespace and returns what it prints.
func (l *lab) ip(arguments string) string {
	l.t.Helper()
	out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("ip %s: %v\n%s", arguments, err, out)
	}
	return string(out)
}

func (l *lab) state() node.State {
	l.t.Helper()
	state, _ := l.read()
	return state
}

func (l *lab) read() (node.State, node.Facts) {
	l.t.Helper()
	state, facts, err := l.Read(context.Background(), l.scope)
	if err != nil {
		l.t.Fatal(err)
	}
	return state, facts
}

func (l *lab) apply(steps ...node.Step) {
	l.t.Helper()
	for _, s := range steps {
		if err := l.Apply(context.Background(), s); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) expect(want node.State) {
	l.t.Helper()
	if d := cmp.Diff(want, l.state(), comparable...); d != "" {
		l.t.Errorf("state (-want +got):\n%s", d)
	}
}

// comparable lets cmp compare keys and addresses as Go does.
var comparable = []cmp.Option{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func makeStep(key node.Key, value node.Value) node.Step {
	return node.Step{Op: node.Make, Key: key, Value: value}
}

func removeStep(key node.Key, old node.Value) node.Step {
	return node.Step{Op: node.Remove, Key: key, Old: old}
}

// plus is a state with one more object.
func plus(s node.State, key node.Key, value node.Value) node.State {
	s = maps.Clone(s)
	s[key] = value
	return s
}

func prefix(s string) netip.Prefix {
	slash := strings.IndexByte(s, '/')
	bits := 0
	for _, c := range s[slash+1:] {
		bits = bits*10 + int(c-'0')
	}
	return netip.PrefixFrom(netip.MustParseAddr(s[:slash]), bits) // also IPv4-mapped, which ParsePrefix refuses
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		runtime.Gosched()
	}
}
