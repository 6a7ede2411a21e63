package fabric

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

const bgpdPath = "/usr/lib/frr/bgpd"

// link is a fabric's and a node's namespace with a veth pair between them.
type link struct {
	fabric, node netns.NsHandle
}

var (
	nodeLink   = netip.MustParseAddr("192.0.2.2")
	nodeLinkV6 = netip.MustParseAddr("2001:db8:ffff::2")
)

func newLink(t *testing.T) link {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	l := link{fabric: newNamespace(t), node: newNamespace(t)}
	inFabric := handleAt(t, l.fabric)
	must(t, inFabric.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "cmp1"}, PeerName: "uplink", PeerNamespace: netlink.NsFd(l.node)}))
	configure(t, inFabric, "cmp1", "192.0.2.1/30", "2001:db8:ffff::1/64")
	configure(t, handleAt(t, l.node), "uplink", "192.0.2.2/30", "2001:db8:ffff::2/64")
	return l
}

// newNamespace makes a network namespace that lives as long as the test.
func newNamespace(t *testing.T) netns.NsHandle {
	t.Helper()
	var ns netns.NsHandle
	onLockedThread(func() (err error) {
		ns, err = netns.New()
		return err
	}, t)
	t.Cleanup(func() { ns.Close() })
	return ns
}

// onLockedThread runs f on a thread that ends with it.
func onLockedThread(f func() error, t *testing.T) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	must(t, <-done)
}

func handleAt(t *testing.T, ns netns.NsHandle) *netlink.Handle {
	t.Helper()
	h, err := netlink.NewHandleAt(ns)
	must(t, err)
	t.Cleanup(h.Close)
	return h
}

func configure(t *testing.T, h *netlink.Handle, device string, addresses ...string) {
	t.Helper()
	dev, err := h.LinkByName(device)
	must(t, err)
	for _, text := range addresses {
		address, err := netlink.ParseAddr(text)
		must(t, err)
		address.Flags = syscall.IFA_F_NODAD
		must(t, h.AddrAdd(dev, address))
	}
	must(t, h.LinkSetUp(dev))
}

// bgpd is a real one, alone in its namespace.
type bgpd struct {
	t   *testing.T
	ns  netns.NsHandle
	dir string
	cmd *exec.Cmd
}

func newBGPD(t *testing.T, ns netns.NsHandle, config string) *bgpd {
	t.Helper()
	if _, err := os.Stat(bgpdPath); err != nil {
		t.Skip("FRR is not installed")
	}
	dir, err := os.MkdirTemp("", "bgpd") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.WriteFile(filepath.Join(dir, "bgpd.conf"), []byte(config), 0o644))
	b := &bgpd{t: t, ns: ns, dir: dir}
	b.start()
	t.Cleanup(b.kill)
	return b
}

func (b *bgpd) start() {
	b.t.Helper()
	in := func(name string) string { return filepath.Join(b.dir, name) }
	b.cmd = exec.Command(bgpdPath, "-n", "-Z", "-S", "--log", "stdout", "--log-level", "errors",
		"-f", in("bgpd.conf"), "-i", in("bgpd.pid"), "-z", in("zserv"), "--vty_socket", b.dir)
	output := &bytes.Buffer{}
	b.cmd.Stdout, b.cmd.Stderr = output, output
	onLockedThread(func() error {
		if err := netns.Set(b.ns); err != nil {
			return err
		}
		return b.cmd.Start()
	}, b.t)
}

// kill ends bgpd without a NOTIFICATION, as a crash does.
func (b *bgpd) kill() {
	if b.cmd.ProcessState != nil {
		return
	}
	if err := b.cmd.Process.Kill(); err != nil {
		b.t.Errorf("killing bgpd: %v", err)
	}
	// Its error only says that it was killed.
	_ = b.cmd.Wait()
}

func (b *bgpd) configure(lines ...string) {
	b.t.Helper()
	args := []string{"--vty_socket", b.dir, "-c", "configure terminal"}
	for _, line := range lines {
		args = append(args, "-c", line)
	}
	if out, err := exec.Command("vtysh", args...).CombinedOutput(); err != nil {
		b.t.Fatalf("vtysh: %v\n%s", err, out)
	}
}

func nodeConfig(extra string, networks ...netip.Prefix) string {
	var v4, v6 strings.Builder
	for _, n := range networks {
		out := &v4
		if n.Addr().Is6() {
			out = &v6
		}
		fmt.Fprintf(out, "  network %s\n", n)
	}
	return fmt.Sprintf(`router bgp 64999
 bgp router-id 10.255.0.2
 no bgp ebgp-requires-policy
 no bgp network import-check
 no bgp default ipv4-unicast
%s
 neighbor 192.0.2.1 remote-as 65000
 neighbor 192.0.2.1 timers connect 1
 neighbor 2001:db8:ffff::1 remote-as 65000
 neighbor 2001:db8:ffff::1 timers connect 1
 address-family ipv4 unicast
  neighbor 192.0.2.1 activate
%s exit-address-family
 address-family ipv6 unicast
  neighbor 192.0.2.1 activate
  neighbor 2001:db8:ffff::1 activate
%s exit-address-family
exit
`, extra, &v4, &v6)
}

// nodePeers: over IPv4 both families, over IPv6 its own only.
var nodePeers = []Peer{{"cmp1", nodeLink, nodeAS}, {"cmp1", nodeLinkV6, nodeAS}}

func TestFRRInANamespace(t *testing.T) {
	l := newLink(t)
	f := startFabric(t, Config{NetNS: l.fabric, Peers: nodePeers})
	node := newBGPD(t, l.node, nodeConfig("", vm1, vm2))
	waitEstablished(t, f, "cmp1")
	expect(t, f, Announced(vm1).OnlyBy("cmp1").Within(testTimeout))
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == nodeLink })
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == nodeLinkV6 })

	mark := f.Timeline().Now()
	vm3 := netip.MustParsePrefix("172.24.4.11/32")
	node.configure("router bgp 64999", "address-family ipv4 unicast", "network "+vm3.String(), "no network "+vm1.String())
	expect(t, f, Announced(vm3).By("cmp1").Since(mark).Within(testTimeout))
	expect(t, f, Withdrawn(vm1).By("cmp1").Since(mark).Within(testTimeout))
	expect(t, f, Untouched(vm2).Since(mark))

	mark = f.Timeline().Now()
	node.kill()
	expect(t, f, Withdrawn(vm3).By("cmp1").Since(mark).Within(testTimeout))
	expect(t, f, Withdrawn(vm2).By("cmp1").Since(mark).Within(testTimeout))
	waitForEvent(t, f, mark, func(e Event) bool { return e.Kind == SessionDown && e.Session == nodeLinkV6 })
	waitForEvent(t, f, mark, func(e Event) bool { return e.Kind == SessionDown && e.Session == nodeLink })

	mark = f.Timeline().Now()
	began := time.Now()
	node.start()
	expect(t, f, Announced(vm1).OnlyBy("cmp1").Since(mark).Within(testTimeout))
	t.Logf("announced %s after the start of bgpd", time.Since(began).Round(time.Millisecond))
}

func TestGracefulRestart(t *testing.T) {
	if raceDetector {
		t.Skip("GoBGP marks a path as stale while its own watcher reads the mark")
	}
	l := newLink(t)
	f := startFabric(t, Config{NetNS: l.fabric, Peers: nodePeers, GracefulRestart: true})
	config := nodeConfig(" bgp graceful-restart\n bgp graceful-restart preserve-fw-state\n bgp graceful-restart restart-time 3", vm1, vm2)
	node := newBGPD(t, l.node, config)
	waitEstablished(t, f, "cmp1")
	expect(t, f, Announced(vm1).By("cmp1").Within(testTimeout))
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == nodeLink })
	waitForEvent(t, f, Mark{}, func(e Event) bool { return e.Prefix == vm2 && e.Session == nodeLinkV6 })

	mark := f.Timeline().Now()
	node.kill()
	waitForEvent(t, f, mark, func(e Event) bool { return e.Kind == SessionDown && e.Session == nodeLink })
	waitForEvent(t, f, mark, func(e Event) bool { return e.Kind == SessionDown && e.Session == nodeLinkV6 })
	expect(t, f, Untouched(vm1, vm2).Since(mark))

	expect(t, f, Withdrawn(vm1).By("cmp1").Since(mark).Within(testTimeout))
	expect(t, f, Withdrawn(vm2).By("cmp1").Since(mark).Within(testTimeout))
	for _, e := range f.Timeline().Since(mark) {
		if e.Kind == Withdraw && e.Cause != CauseStale {
			t.Errorf("withdrawal of %s has cause %q", e.Prefix, e.Cause)
		}
	}
}
