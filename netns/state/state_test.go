package state

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// node is a private namespace with a handle in it.
type node struct {
	*netlink.Handle
	t  *testing.T
	ns netns.NsHandle
}

func newNode(t *testing.T) node {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	n := node{t: t}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends in the namespace that it made
		var err error
		n.ns, err = netns.New()
		failed <- err
	}()
	n.must(<-failed)
	t.Cleanup(func() { n.ns.Close() })
	var err error
	n.Handle, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE)
	n.must(err)
	t.Cleanup(n.Handle.Close)
	return n
}

func (n node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n node) link(link netlink.Link) netlink.Link {
	n.t.Helper()
	n.must(n.LinkAdd(link))
	made, err := n.LinkByName(link.Attrs().Name)
	n.must(err)
	n.must(n.LinkSetUp(made))
	return made
}

func (n node) read(r Reader) State {
	n.t.Helper()
	r.NetNS = n.ns
	s, err := Read(n.t.Context(), r)
	n.must(err)
	return s
}

func cidr(t *testing.T, text string) *net.IPNet {
	t.Helper()
	ip, network, err := net.ParseCIDR(text)
	if err != nil {
		t.Fatal(err)
	}
	network.IP = ip
	return network
}

// wire makes the kernel side of one exposed address of each family.
func (n node) wire() {
	bridge := n.link(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br-ex"}})
	n.link(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "port", MasterIndex: bridge.Attrs().Index}, PeerName: "peer"})
	index := bridge.Attrs().Index
	mac, err := net.ParseMAC("fa:16:3e:7d:50:ad")
	n.must(err)
	for _, text := range []string{"169.254.1.1/32", "172.24.4.10/32", "2001:db8::10/128"} {
		n.must(n.AddrAdd(bridge, &netlink.Addr{IPNet: cidr(n.t, text), Flags: unix.IFA_F_NODAD}))
	}
	for _, text := range []string{"172.24.4.11/32", "2001:db8::11/128"} {
		to := cidr(n.t, text)
		rule := netlink.NewRule()
		rule.Dst, rule.Priority, rule.Table = to, 32000, 201
		n.must(n.RuleAdd(rule))
		route := &netlink.Route{Dst: to, LinkIndex: index, Table: 201, Protocol: unix.RTPROT_BOOT}
		if to.IP.To4() != nil {
			route.Scope = netlink.SCOPE_LINK
		}
		n.must(n.RouteAdd(route))
		n.must(n.NeighSet(&netlink.Neigh{LinkIndex: index, IP: to.IP, State: netlink.NUD_PERMANENT, HardwareAddr: mac}))
	}
	n.must(n.RouteAdd(&netlink.Route{Dst: cidr(n.t, "0.0.0.0/0"), LinkIndex: index, Table: 201, Protocol: unix.RTPROT_BOOT, Scope: netlink.SCOPE_LINK}))
	n.must(n.RouteAdd(&netlink.Route{Dst: cidr(n.t, "10.0.0.0/24"), Gw: net.IPv4(172, 24, 4, 11), LinkIndex: index, Table: 201, Protocol: unix.RTPROT_BOOT, Flags: int(netlink.FLAG_ONLINK)}))
	n.must(n.RouteAdd(&netlink.Route{Dst: cidr(n.t, "198.51.100.0/24"), LinkIndex: index, Protocol: unix.RTPROT_STATIC, Scope: netlink.SCOPE_LINK}))
	n.must(n.NeighAdd(&netlink.Neigh{LinkIndex: index, IP: net.ParseIP("2001:db8::"), Family: netlink.FAMILY_V6, Flags: netlink.NTF_PROXY}))
}

const wiredText = `# links
br-ex up bridge
peer down veth
port up master br-ex veth
# addresses
169.254.1.1/32 dev br-ex
172.24.4.10/32 dev br-ex
2001:db8::10/128 dev br-ex
# rules
32000: from all to 172.24.4.11 lookup 201
32000: from all to 2001:db8::11 lookup 201
# routes
10.0.0.0/24 via 172.24.4.11 dev br-ex table 201
172.24.4.11 dev br-ex table 201 scope link
2001:db8::11 dev br-ex table 201 metric 1024
default dev br-ex table 201 scope link
# neighbours
172.24.4.11 dev br-ex lladdr fa:16:3e:7d:50:ad PERMANENT
2001:db8::11 dev br-ex lladdr fa:16:3e:7d:50:ad PERMANENT
# proxies
2001:db8:: dev br-ex proxy
# sysctls
net.ipv4.conf.br-ex.forwarding = 0
net.ipv4.conf.br-ex.proxy_arp = 0
net.ipv6.conf.br-ex.forwarding = 0
net.ipv6.conf.br-ex.proxy_ndp = 0
`

func TestTextOfAWiredNode(t *testing.T) {
	n := newNode(t)
	n.wire()
	got := n.read(Reader{SysctlDevices: []string{"br-ex", "absent"}}).String()
	if diff := cmp.Diff(wiredText, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFreshNamespaceIsEmpty(t *testing.T) {
	n := newNode(t)
	if got := n.read(Reader{MainTable: true, KernelRoutes: true}); got.String() != "" {
		t.Errorf("state of a fresh namespace:\n%s", got)
	}
}

func TestMainTableAndKernelRoutesAreReadOnDemand(t *testing.T) {
	n := newNode(t)
	n.wire()
	tests := map[string]struct {
		reader Reader
		want   string
	}{
		"main":                   {Reader{MainTable: true}, "+198.51.100.0/24 dev br-ex table 254 proto static scope link\n"},
		"main and kernel routes": {Reader{MainTable: true, KernelRoutes: true}, "+198.51.100.0/24 dev br-ex table 254 proto static scope link\n+2001:db8::10 dev br-ex table 254 proto kernel metric 256\n"},
	}
	base := n.read(Reader{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Diff(base, n.read(test.reader)); got != "# routes\n"+test.want {
				t.Errorf("difference:\n%swant:\n%s", got, test.want)
			}
		})
	}
}

func TestSysctlsOfAVLANDevice(t *testing.T) {
	n := newNode(t)
	n.link(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br-ex.101"}})
	want := "net.ipv4.conf.br-ex/101.forwarding = 0"
	got := n.read(Reader{SysctlDevices: []string{"br-ex.101"}}).Section(Sysctls)
	if len(got) != 4 || got[0] != want {
		t.Errorf("sysctls %q, want the first of four to be %q", got, want)
	}
}

// answers is a Run that knows the output of some command lines.
func answers(outputs map[string]string) func(context.Context, string, ...string) (string, error) {
	return func(_ context.Context, name string, args ...string) (string, error) {
		command := strings.Join(append([]string{name}, args...), " ")
		output, ok := outputs[command]
		if !ok {
			return "", errors.New(command + ": exit status 1")
		}
		return output, nil
	}
}

const rtTables = `#
# reserved values
#
255	local
254	main
253	default
0	unspec
#
# local
#
#1	inr.ruhep
201 br-ex
`

const runningConfig = `Building configuration...

Current configuration:
!
frr version 8.4.4
hostname cmp1
!
ip route 10.0.0.0/8 192.0.2.1
!
router bgp 64999
 bgp router-id 172.24.4.1
 !
 address-family ipv4 unicast
  import vrf bgp-vrf
 exit-address-family
exit
!
router bgp 64999 vrf bgp-vrf
 bgp router-id 172.24.4.1
exit
!
line vty
!
end
`

func TestWhatProgramsTell(t *testing.T) {
	r := Reader{
		NetNS:   netns.None(),
		FRR:     true,
		Bridges: []string{"br-ex"},
		Run: answers(map[string]string{
			"cat /etc/iproute2/rt_tables":  rtTables,
			"vtysh -c show running-config": runningConfig,
			"ovs-ofctl dump-flows --no-stats br-ex": ` cookie=0x3e7, priority=900,ipv6,in_port=1 actions=mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL
 cookie=0x3e7, table=0, priority=900,ip,in_port=1 actions=set_field:3a:f7:e9:54:e8:4d->eth_dst,NORMAL
 priority=0 actions=NORMAL
`,
		}),
	}
	s, err := Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		RTTables: {"201 br-ex"},
		Flows: {
			"br-ex cookie=999 priority=900,in_port=1,ip actions=mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL",
			"br-ex cookie=999 priority=900,in_port=1,ipv6 actions=mod_dl_dst:3a:f7:e9:54:e8:4d,NORMAL",
		},
		FRR: {
			"router bgp 64999",
			" bgp router-id 172.24.4.1",
			" address-family ipv4 unicast",
			"  import vrf bgp-vrf",
			" exit-address-family",
			"exit",
			"router bgp 64999 vrf bgp-vrf",
			" bgp router-id 172.24.4.1",
			"exit",
		},
	}
	for name, lines := range want {
		if diff := cmp.Diff(lines, s.Section(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadReturnsWhatItCan(t *testing.T) {
	n := newNode(t)
	n.wire()
	s, err := Read(t.Context(), Reader{NetNS: n.ns, FRR: true, Bridges: []string{"br-ex"}, Run: answers(nil)})
	if err == nil || !strings.Contains(err.Error(), "flows of br-ex") || !strings.Contains(err.Error(), "FRR") {
		t.Errorf("error %v, want one that names flows and FRR", err)
	}
	if len(s.Section(Rules)) != 2 {
		t.Errorf("rules %q", s.Section(Rules))
	}
}

func TestFlowLine(t *testing.T) {
	tests := map[string]struct{ line, want string }{
		"statistics line":  {"NXST_FLOW reply (xid=0x4):", ""},
		"no cookie":        {" cookie=0x0, priority=0 actions=NORMAL", ""},
		"default priority": {"cookie=0x3e6, in_port=2 actions=drop", "cookie=998 priority=32768,in_port=2 actions=drop"},
		"another table":    {"cookie=0x1, table=4, priority=5 actions=resubmit(,5)", "cookie=1 table=4,priority=5 actions=resubmit(,5)"},
		"set of something else": {
			"cookie=0x1, priority=5,ip actions=set_field:10.0.0.1->nw_dst,set_field:02:00:00:00:00:01->eth_dst,NORMAL",
			"cookie=1 priority=5,ip actions=set_field:10.0.0.1->nw_dst,mod_dl_dst:02:00:00:00:00:01,NORMAL",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := flowLine(test.line)
			if got != test.want || ok != (test.want != "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	a := State{Rules: {"32000: from all to 172.24.4.10 lookup 201", "32000: from all to 172.24.4.11 lookup 201"}, FRR: {"a", "b"}}
	b := State{Rules: {"32000: from all to 172.24.4.11 lookup 201"}, Routes: {"default dev br-ex table 201 scope link"}, FRR: {"b", "a"}}
	want := `# rules
-32000: from all to 172.24.4.10 lookup 201
# routes
+default dev br-ex table 201 scope link
# frr
 (the same lines in another order)
`
	if diff := cmp.Diff(want, Diff(a, b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Diff(a, a); got != "" {
		t.Errorf("difference of equal states: %q", got)
	}
}
