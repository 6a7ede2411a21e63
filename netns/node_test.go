package netns

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
}

// newNode makes a node that lives as long as the test; a crash of one of its processes fails the test.
func newNode(t *testing.T, name string, change ...func(*NodeConfig)) *Node {
	t.Helper()
	needRoot(t)
	c := NodeConfig{Name: name, Artifacts: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		OnCrash: func(err error) { t.Error(err) }}
	for _, f := range change {
		f(&c)
	}
	n, err := NewNode(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func run(t *testing.T, n *Node, args ...string) string {
	t.Helper()
	out, err := n.Run(t.Context(), args[0], args[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNodeHasItsOwnFilesNamesAndNetwork(t *testing.T) {
	a := newNode(t, "cmp1", func(c *NodeConfig) { c.RTTables = "255\tlocal\n201\tbr-of-cmp1\n" })
	b := newNode(t, "cmp2", func(c *NodeConfig) { c.NoForwarding = true })
	for _, c := range []struct{ name, command, a, b string }{
		{"host name", "hostname", "cmp1\n", "cmp2\n"},
		{"IPv4 forwarding", "cat /proc/sys/net/ipv4/ip_forward", "1\n", "0\n"},
		{"IPv6 forwarding", "cat /proc/sys/net/ipv6/conf/all/forwarding", "1\n", "0\n"},
		{"devices", "ls /sys/class/net", "lo\n", "lo\n"},
		{"route tables", "grep -c br-of-cmp1 /etc/iproute2/rt_tables || true", "1\n", "0\n"},
		{"private files", "for d in " + strings.Join(privateFolders, " ") + `; do [ ! -e $d ] || { [ ! -e $d/mark ] && hostname >$d/mark && cat $d/mark; }; done | sort -u`, "cmp1\n", "cmp2\n"},
		{"first process", "cat /proc/1/comm", "cat\n", "cat\n"},
	} {
		for n, want := range map[*Node]string{a: c.a, b: c.b} {
			if got := run(t, n, "sh", "-c", c.command); got != want {
				t.Errorf("%s on %s: %q, want %q", c.name, n.Name(), got, want)
			}
		}
	}
	if _, err := os.Stat("/run/mark"); err == nil {
		t.Error("a node's file is on the machine")
	}
	if text, err := os.ReadFile(b.Path("/run/mark")); err != nil || string(text) != "cmp2\n" {
		t.Errorf("Path: %q, %v", text, err)
	}
}

func TestConnectJoinsTwoNodes(t *testing.T) {
	a, b := newNode(t, "left"), newNode(t, "right")
	prefixes := func(s ...string) (ps []netip.Prefix) {
		for _, p := range s {
			ps = append(ps, netip.MustParsePrefix(p))
		}
		return ps
	}
	if err := Connect(a, "eth1", prefixes("10.0.0.1/30", "2001:db8::1/64"), b, "eth2", prefixes("10.0.0.2/30", "2001:db8::2/64")); err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"10.0.0.2", "2001:db8::2"} {
		routes, err := a.Netlink().RouteGet(netip.MustParseAddr(network).AsSlice())
		if err != nil || len(routes) != 1 {
			t.Fatalf("route to %s: %v, %v", network, routes, err)
		}
	}
	// A packet each way shows that both ends are up; the address is usable at once, without duplicate address detection.
	for _, target := range []string{"10.0.0.2", "2001:db8::2"} {
		exchange(t, a, b, netip.MustParseAddr(target))
	}
	if err := Connect(a, "eth1", nil, b, "eth3", nil); err == nil {
		t.Error("a device name was used twice without an error")
	}
}

// exchange sends a datagram from a to an address of b and one back.
func exchange(t *testing.T, a, b *Node, target netip.Addr) {
	t.Helper()
	server, address := udpListen(t, b, target)
	defer server.Close()
	client := udpDial(t, a, address)
	defer client.Close()
	deadline := time.Now().Add(20 * time.Second)
	if err := server.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	if err := client.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("there")); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	n, from, err := server.ReadFrom(buffer)
	if err != nil || string(buffer[:n]) != "there" {
		t.Fatalf("to %v: %q, %v", target, buffer[:n], err)
	}
	if _, err := server.WriteTo([]byte("back"), from); err != nil {
		t.Fatal(err)
	}
	if n, err = client.Read(buffer); err != nil || string(buffer[:n]) != "back" {
		t.Fatalf("from %v: %q, %v", target, buffer[:n], err)
	}
}

func TestTwoNodesWithFRRAndOVSSeeOnlyTheirOwn(t *testing.T) {
	needProgram(t, "vtysh")
	needProgram(t, "ovs-vswitchd")
	nodes := []*Node{newNode(t, "cmp1"), newNode(t, "cmp2")}
	failed := make(chan error, len(nodes))
	for _, n := range nodes {
		go func() {
			start := time.Now()
			err := n.StartFRR(t.Context(), "hostname "+n.Name()+"\nrouter bgp 64999\n bgp router-id 10.9.9.9\n", "bgpd", "staticd")
			if err == nil {
				err = n.StartOVS(t.Context(), OVSConfig{SystemID: "id-" + n.Name(), Hostname: n.Name(), BridgeMappings: "public:br-ex,other:br-o",
					ExternalIDs: map[string]string{"ovn-remote": "tcp:127.0.0.1:6642"}, Bridges: []string{"br-int", "br-" + n.Name()}})
			}
			t.Logf("%s: FRR and Open vSwitch after %v", n.Name(), time.Since(start))
			failed <- err
		}()
	}
	for range nodes {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if out := run(t, n, "vtysh", "-c", "show running-config"); !strings.Contains(out, "hostname "+n.Name()) || !strings.Contains(out, "router bgp 64999") {
			t.Errorf("%s: running configuration\n%s", n.Name(), out)
		}
		if out := run(t, n, "ovs-vsctl", "list-br"); out != "br-"+n.Name()+"\nbr-int\n" {
			t.Errorf("%s: bridges %q", n.Name(), out)
		}
		if out := run(t, n, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:system-id", "external_ids:ovn-bridge-mappings"); out != "id-"+n.Name()+"\n\"public:br-ex,other:br-o\"\n" {
			t.Errorf("%s: external_ids %q", n.Name(), out)
		}
		run(t, n, "ovs-ofctl", "add-flow", "br-"+n.Name(), "cookie=0x3e7,priority=900,ip,actions=NORMAL")
		if _, err := n.Netlink().LinkByName("br-" + n.Name()); err != nil {
			t.Errorf("%s: the bridge's own port: %v", n.Name(), err)
		}
	}
}

func TestRestartedBgpdIsEmptyUntilReloaded(t *testing.T) {
	needProgram(t, "vtysh")
	n := newNode(t, "cmp1")
	if err := n.StartFRR(t.Context(), "router bgp 64999\n"); err != nil {
		t.Fatal(err)
	}
	old := n.FRR("bgpd").Pid()
	for _, c := range []struct{ reload, want bool }{{false, false}, {true, true}} {
		if err := n.RestartFRR(t.Context(), "bgpd", c.reload); err != nil {
			t.Fatal(err)
		}
		if out := run(t, n, "vtysh", "-c", "show running-config"); strings.Contains(out, "router bgp 64999") != c.want {
			t.Errorf("reload %v:\n%s", c.reload, out)
		}
	}
	if n.FRR("bgpd").Pid() == old {
		t.Error("bgpd is the same process")
	}
}

func TestRejectedFRRConfigurationIsAnError(t *testing.T) {
	needProgram(t, "vtysh")
	n := newNode(t, "cmp1")
	err := n.StartFRR(t.Context(), "router bgp 64999\n no such line\n")
	if err == nil || !strings.Contains(err.Error(), "no such line") {
		t.Errorf("error %v", err)
	}
}

func TestVRFAndVLANOnANode(t *testing.T) {
	needRoot(t)
	if missing, err := Probe(); err != nil || len(missing) > 0 {
		if inGuest() || err != nil {
			t.Fatalf("missing %v, %v", missing, err)
		}
		t.Skipf("this kernel has no %v", missing)
	}
	n := newNode(t, "cmp1")
	vrf := &netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: "bgp-vrf"}, Table: 10}
	if err := n.Netlink().LinkAdd(vrf); err != nil {
		t.Fatal(err)
	}
	if err := n.Netlink().LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "bgp-nic", MasterIndex: vrf.Index}}); err != nil {
		t.Fatal(err)
	}
	if err := n.StartOVS(t.Context(), OVSConfig{Bridges: []string{"br-ex"}}); err != nil {
		t.Fatal(err)
	}
	parent, err := n.Netlink().LinkByName("br-ex")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Netlink().LinkAdd(&netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "br-ex.100", ParentIndex: parent.Attrs().Index}, VlanId: 100}); err != nil {
		t.Fatal(err)
	}
}

func TestCrashIsReportedWithTheLog(t *testing.T) {
	crashes := make(chan error, 1)
	n := newNode(t, "cmp1", func(c *NodeConfig) { c.OnCrash = func(err error) { crashes <- err } })
	if _, err := n.Start(t.Context(), ProcessConfig{Name: "agent", Args: []string{"sh", "-c", "echo last words >&2; exit 3"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-crashes:
		for _, want := range []string{"cmp1", "agent", "exit status 3", "last words"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("crash %q lacks %q", err, want)
			}
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no crash reported")
	}
}

func TestStoppedProcessesAreNoCrash(t *testing.T) {
	n := newNode(t, "cmp1")
	start := func(text string) *Process {
		p, err := n.Start(t.Context(), ProcessConfig{Name: "p", Env: []string{"V=value"}, Dir: "/run", Args: []string{"sh", "-c", text}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	up := func() {
		eventually(t, func() string {
			if text, _ := os.ReadFile(n.Path("/run/up")); string(text) != "value /run\n" {
				return "the process has not come up: " + string(text)
			}
			return ""
		})
	}
	p := start(`trap 'exit 7' TERM; echo "$V $PWD" >/run/up; while :; do sleep 0.05; done`)
	up()
	if _, err := n.Start(t.Context(), ProcessConfig{Name: "p", Args: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("second start: %v", err)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(unix.SIGTERM, 30*time.Second); err != nil { // paused, and yet it handles the signal
		t.Error(err)
	}
	if err := p.Err(); err == nil || err.Error() != "exit status 7" || p.Stop(unix.SIGTERM, time.Second) != nil {
		t.Errorf("after the stop: %v", err)
	}
	if err := os.Remove(n.Path("/run/up")); err != nil {
		t.Fatal(err)
	}
	p = start(`trap 'echo deaf' TERM; echo "$V $PWD" >/run/up; while :; do sleep 0.05; done`)
	up()
	if err := p.Stop(unix.SIGTERM, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("stop of a deaf process: %v", err)
	}
	if err := start("exec sleep 600").Kill(); err != nil {
		t.Error(err)
	}
}

func TestClosedNodeRefusesWork(t *testing.T) {
	n := newNode(t, "cmp1")
	sleeper, err := n.Start(t.Context(), ProcessConfig{Name: "p", Args: []string{"sh", "-c", "sleep 600 & sleep 600"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-sleeper.Done():
	default:
		t.Error("a process outlived its node")
	}
	if _, err := n.Run(t.Context(), "true"); err == nil {
		t.Error("Run on a closed node")
	}
	if _, err := n.Start(t.Context(), ProcessConfig{Name: "q", Args: []string{"true"}}); err == nil {
		t.Error("Start on a closed node")
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	n := newNode(t, "cmp1")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := n.Command(ctx, "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("no error")
	}
	out, err := n.Command(t.Context(), "sh", "-c", "echo out; echo problem >&2; exit 1").Output()
	if string(out) != "out\n" || err == nil || !strings.Contains(err.Error(), "problem") {
		t.Errorf("Output: %q, %v", out, err)
	}
}

func TestOVSSetupIsOneTransaction(t *testing.T) {
	got := strings.Join(ovsSetup(OVSConfig{SystemID: "id", BridgeMappings: "public:br-ex", DatapathType: "netdev", Bridges: []string{"br-int", "br-ex"}}), " ")
	want := `init -- set Open_vSwitch . external_ids:ovn-bridge-mappings="public:br-ex" -- set Open_vSwitch . external_ids:system-id="id"` +
		` -- add-br br-int -- set Bridge br-int datapath_type=netdev fail_mode=secure -- add-br br-ex -- set Bridge br-ex datapath_type=netdev`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBadNodeNames(t *testing.T) {
	for _, name := range []string{"", "-x", "a/b", strings.Repeat("a", 65)} {
		if _, err := NewNode(t.Context(), NodeConfig{Name: name, Artifacts: t.TempDir()}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}

func TestProbeFindsWhatIpCanMake(t *testing.T) {
	needRoot(t)
	missing, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, "probe")
	for kind, args := range map[string]string{"vrf": "type vrf table 7", "dummy": "type dummy"} {
		_, err := n.Run(t.Context(), "ip", strings.Fields("link add x-"+kind+" "+args)...)
		if (err != nil) != slices.Contains(missing, kind) {
			t.Errorf("%s: probe says missing %v, ip says %v", kind, missing, err)
		}
	}
}
