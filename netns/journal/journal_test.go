package journal

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const testTimeout = 20 * time.Second

var (
	vm1   = netip.MustParsePrefix("172.24.4.10/32")
	vm1v6 = netip.MustParsePrefix("2001:db8::10/128")
)

// node is a private namespace with a bridge br-ex that is up, and its journal.
type node struct {
	*netlink.Handle
	t       *testing.T
	ns      netns.NsHandle
	journal *Journal
	bridge  netlink.Link
}

func newNode(t *testing.T) *node {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	n := &node{t: t, ns: newNamespace(t)}
	var err error
	n.Handle, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE)
	n.must(err)
	t.Cleanup(n.Handle.Close)
	n.must(n.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br-ex"}}))
	n.bridge, err = n.LinkByName("br-ex")
	n.must(err)
	n.must(n.LinkSetUp(n.bridge))
	// With its last address a device loses all its IPv4 routes.
	n.must(n.AddrAdd(n.bridge, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("169.254.1.1/32"))}))
	n.journal, err = Open(n.ns, slog.New(slog.NewTextHandler(t.Output(), nil)))
	n.must(err)
	t.Cleanup(func() {
		if err := n.journal.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func newNamespace(t *testing.T) netns.NsHandle {
	t.Helper()
	var ns netns.NsHandle
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends in the namespace that it made
		var err error
		ns, err = netns.New()
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) waitFor(since Mark, p Predicate) Entry {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), testTimeout)
	defer cancel()
	var found Entry
	err := n.journal.WaitFor(ctx, func() (ok bool) {
		found, ok = n.journal.First(since, p)
		return ok
	})
	if err != nil {
		n.t.Fatalf("no entry %q: %v\n%s", p, err, n.journal)
	}
	return found
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func ruleTo(p netip.Prefix) *netlink.Rule {
	rule := netlink.NewRule()
	rule.Dst, rule.Priority, rule.Table = ipNet(p), 32000, 201
	rule.Family = netlink.FAMILY_V4
	if p.Addr().Is6() {
		rule.Family = netlink.FAMILY_V6
	}
	return rule
}

func (n *node) routeTo(p netip.Prefix) *netlink.Route {
	route := &netlink.Route{Dst: ipNet(p), LinkIndex: n.bridge.Attrs().Index, Table: 201, Protocol: unix.RTPROT_BOOT}
	if p.Addr().Is4() {
		route.Scope = netlink.SCOPE_LINK
	}
	return route
}

func (n *node) neighbour(p netip.Prefix) *netlink.Neigh {
	mac, err := net.ParseMAC("fa:16:3e:7d:50:ad")
	n.must(err)
	return &netlink.Neigh{LinkIndex: n.bridge.Attrs().Index, IP: p.Addr().AsSlice(), State: netlink.NUD_PERMANENT, HardwareAddr: mac}
}

// expose wires a prefix as the agent does, and takes it back.
func (n *node) expose(p netip.Prefix) {
	n.must(n.RuleAdd(ruleTo(p)))
	n.must(n.NeighSet(n.neighbour(p)))
	n.must(n.RouteAdd(n.routeTo(p)))
	n.must(n.AddrAdd(n.bridge, &netlink.Addr{IPNet: ipNet(p), Flags: unix.IFA_F_NODAD}))
}

func (n *node) withdraw(p netip.Prefix) {
	n.must(n.AddrDel(n.bridge, &netlink.Addr{IPNet: ipNet(p)}))
	n.must(n.RouteDel(n.routeTo(p)))
	n.must(n.NeighDel(n.neighbour(p)))
	n.must(n.RuleDel(ruleTo(p)))
}

func texts(entries []Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.String())
	}
	return all
}

func TestTextOfAnExposure(t *testing.T) {
	tests := map[string]struct {
		prefix netip.Prefix
		want   []string
	}{
		"IPv4": {vm1, []string{
			"rule add 32000: from all to 172.24.4.10 lookup 201",
			"neigh add 172.24.4.10 dev br-ex lladdr fa:16:3e:7d:50:ad PERMANENT",
			"route add 172.24.4.10 dev br-ex table 201 scope link",
			"addr add 172.24.4.10/32 dev br-ex",
			"addr del 172.24.4.10/32 dev br-ex",
			"route del 172.24.4.10 dev br-ex table 201 scope link",
			"neigh del 172.24.4.10 dev br-ex FAILED",
			"rule del 32000: from all to 172.24.4.10 lookup 201",
		}},
		"IPv6": {vm1v6, []string{
			"rule add 32000: from all to 2001:db8::10 lookup 201",
			"neigh add 2001:db8::10 dev br-ex lladdr fa:16:3e:7d:50:ad PERMANENT",
			"route add 2001:db8::10 dev br-ex table 201 metric 1024",
			"addr add 2001:db8::10/128 dev br-ex",
			"addr del 2001:db8::10/128 dev br-ex",
			"route del 2001:db8::10 dev br-ex table 201 metric 1024",
			"neigh del 2001:db8::10 dev br-ex FAILED",
			"rule del 32000: from all to 2001:db8::10 lookup 201",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.expose(test.prefix)
			n.waitFor(Mark{}, Is(Addr, Add).And(To(test.prefix)))
			n.withdraw(test.prefix)
			n.waitFor(Mark{}, Is(Rule, Del).And(To(test.prefix)))
			got := texts(n.journal.Writes(Mark{}, To(test.prefix).And(Configured())))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, n.journal)
			}
		})
	}
}

func TestFieldsOfEntries(t *testing.T) {
	n := newNode(t)
	n.expose(vm1)
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	route := n.routeTo(subnet)
	route.Scope, route.Gw = netlink.SCOPE_UNIVERSE, net.IPv4(172, 24, 4, 1)
	route.Table, route.Flags = 1001, int(netlink.FLAG_ONLINK)
	n.must(n.RouteAdd(route))

	rule := n.waitFor(Mark{}, Is(Rule, Add))
	if rule.Priority != 32000 || rule.Table != 201 || rule.Prefix != vm1 {
		t.Errorf("rule: %+v", rule)
	}
	neigh := n.waitFor(Mark{}, Is(Neigh, Add).And(To(vm1)))
	if neigh.LLAddr != "fa:16:3e:7d:50:ad" || neigh.State != unix.NUD_PERMANENT || neigh.Dev != "br-ex" {
		t.Errorf("neighbour: %+v", neigh)
	}
	got := n.waitFor(Mark{}, Is(Route, Add).And(To(subnet)))
	if got.Gateway != netip.MustParseAddr("172.24.4.1") || got.Table != 1001 || got.Proto != unix.RTPROT_BOOT || got.Scope != unix.RT_SCOPE_UNIVERSE {
		t.Errorf("route: %+v", got)
	}
	if want := "10.0.0.0/24 via 172.24.4.1 dev br-ex table 1001"; got.Text != want {
		t.Errorf("route text %q, want %q", got.Text, want)
	}
}

func TestOrder(t *testing.T) {
	n := newNode(t)
	n.expose(vm1)
	n.waitFor(Mark{}, Is(Addr, Add).And(To(vm1)))
	rule, route, addr := Is(Rule, Add).And(To(vm1)), Is(Route, Add).And(To(vm1)).And(InTable(201)), Is(Addr, Add).And(To(vm1)).And(On("br-ex"))
	if err := n.journal.Order(Mark{}, rule, route, addr); err != nil {
		t.Error(err)
	}
	if err := n.journal.Order(Mark{}, rule, addr, route); err == nil || !strings.Contains(err.Error(), "comes before") {
		t.Errorf("wrong order: %v", err)
	}
	if err := n.journal.Order(Mark{}, rule, rule); err == nil {
		t.Error("an entry came after itself")
	}
	if err := n.journal.Order(Mark{}, rule, Is(Rule, Del)); err == nil || !strings.Contains(err.Error(), "no entry") {
		t.Errorf("absent entry: %v", err)
	}
	if err := n.journal.Order(n.journal.Now(), rule); err == nil {
		t.Error("an entry before the mark was found")
	}
}

func TestFirstLastWrites(t *testing.T) {
	n := newNode(t)
	n.expose(vm1)
	n.withdraw(vm1)
	mark := Mark{}
	n.waitFor(mark, Is(Rule, Del))
	rules := Where("rule", func(e Entry) bool { return e.Kind == Rule })
	first, _ := n.journal.First(mark, rules)
	last, _ := n.journal.Last(mark, rules)
	if first.Op != Add || last.Op != Del || first.Seq >= last.Seq {
		t.Errorf("first %v, last %v", first, last)
	}
	if got := len(n.journal.Writes(mark, rules)); got != 2 {
		t.Errorf("%d writes of rules, want 2", got)
	}
	if _, found := n.journal.Last(mark, Not(rules).And(Is(Rule, Add))); found {
		t.Error("a predicate and its negation have an entry in common")
	}
}

func TestHookRunsOnceBeforeTheEntryIsSeen(t *testing.T) {
	for name, prefix := range map[string]netip.Prefix{"IPv4": vm1, "IPv6": vm1v6} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			var rules [][]netlink.Rule
			n.journal.OnAddr("br-ex", func(e Entry) {
				if e.Prefix != prefix {
					return
				}
				list, err := n.RuleList(netlink.FAMILY_ALL)
				if err != nil {
					t.Error(err)
				}
				rules = append(rules, list)
			})
			n.expose(prefix)
			n.waitFor(Mark{}, Is(Addr, Add).And(To(prefix)))
			if len(rules) != 1 {
				t.Fatalf("the hook ran %d times", len(rules))
			}
			if !slices.ContainsFunc(rules[0], func(r netlink.Rule) bool { return r.Priority == 32000 }) {
				t.Errorf("the rule was not there when the address came: %v", rules[0])
			}
			n.withdraw(prefix)
			n.waitFor(Mark{}, Is(Rule, Del))
			mark := n.journal.Now()
			n.expose(prefix)
			n.waitFor(mark, Is(Addr, Add).And(To(prefix)))
			if len(rules) != 2 {
				t.Errorf("the hook ran %d times for an address that came twice", len(rules))
			}
		})
	}
}

func TestAppearsIsTheFirstSignOfAnAddress(t *testing.T) {
	for prefix, want := range map[netip.Prefix]Kind{vm1: Addr, vm1v6: Route} {
		n := newNode(t)
		n.must(n.AddrAdd(n.bridge, &netlink.Addr{IPNet: ipNet(prefix)})) // wrong: the address before the rule
		n.must(n.RuleAdd(ruleTo(prefix)))
		n.waitFor(Mark{}, Is(Rule, Add))
		n.waitFor(Mark{}, Is(Addr, Add).And(To(prefix)))
		if sign, _ := n.journal.First(Mark{}, Appears(prefix, "br-ex")); sign.Kind != want {
			t.Errorf("the first sign of %s is %q, want a %s", prefix, sign, want)
		}
		if err := n.journal.Order(Mark{}, Is(Rule, Add), Appears(prefix, "br-ex")); err == nil {
			t.Errorf("the wrong order was not found:\n%s", n.journal)
		}
	}
}

func TestDevicesMadeLaterHaveNames(t *testing.T) {
	n := newNode(t)
	n.must(n.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "uplink"}, PeerName: "peer"}))
	link, err := n.LinkByName("uplink")
	n.must(err)
	n.must(n.LinkSetUp(link))
	n.must(n.AddrAdd(link, &netlink.Addr{IPNet: ipNet(vm1)}))
	got := n.waitFor(Mark{}, Is(Addr, Add).And(To(vm1)))
	if got.Dev != "uplink" {
		t.Errorf("device %q, want uplink", got.Dev)
	}
	if up := n.waitFor(Mark{}, Is(Link, Add).And(On("uplink")).And(Where("up", func(e Entry) bool { return e.Flags&unix.IFF_UP != 0 }))); up.Text != "uplink up veth" {
		t.Errorf("link text %q", up.Text)
	}
	n.must(n.LinkDel(link))
	if gone := n.waitFor(Mark{}, Is(Addr, Del).And(To(vm1))); gone.Dev != "uplink" {
		t.Errorf("device of the deleted address %q, want uplink", gone.Dev)
	}
	n.waitFor(Mark{}, Is(Link, Del).And(On("uplink")))
}

func TestLostMessagesLeaveAnOverflow(t *testing.T) {
	n := newNode(t)
	conn, err := n.journal.socket.SyscallConn()
	n.must(err)
	resize := func(size int) {
		n.must(conn.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size)
		}))
		n.must(err)
	}
	resize(1)
	release := make(chan struct{})
	n.journal.OnAddr("br-ex", func(Entry) { <-release })
	n.expose(vm1)
	for port := range 200 {
		n.must(n.RuleAdd(ruleTo(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(port)}), 32))))
	}
	close(release)
	n.waitFor(Mark{}, overflow())
	resize(receiveBuffer)
	n.waitUntilDrained()
	mark := n.journal.Now()
	n.withdraw(vm1)
	n.waitFor(mark, Is(Rule, Del))
	if err := n.journal.Order(Mark{}, Is(Rule, Add), Is(Rule, Del)); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("order across a hole: %v", err)
	}
}

// waitUntilDrained returns when the kernel delivers again: after an overflow it
// drops messages until the socket's queue is empty.
func (n *node) waitUntilDrained() {
	n.t.Helper()
	for probe := range 255 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(probe)}), 32)
		n.must(n.RuleAdd(ruleTo(prefix)))
		ctx, cancel := context.WithTimeout(n.t.Context(), 100*time.Millisecond)
		err := n.journal.WaitFor(ctx, func() bool {
			_, found := n.journal.First(Mark{}, To(prefix))
			return found
		})
		cancel()
		if err == nil {
			return
		}
	}
	n.t.Fatal("the kernel delivers no messages")
}

func TestCloseEndsTheReader(t *testing.T) {
	n := newNode(t)
	j, err := Open(n.ns, slog.New(slog.DiscardHandler))
	n.must(err)
	n.must(j.Close())
	mark := j.Now()
	n.expose(vm1)
	n.waitFor(Mark{}, Is(Addr, Add))
	if got := j.Since(mark); len(got) != 0 {
		t.Errorf("recorded after Close: %v", got)
	}
}

func TestOpenNeedsANamespace(t *testing.T) {
	if j, err := Open(1<<20, slog.New(slog.DiscardHandler)); err == nil {
		_ = j.Close()
		t.Error("opened")
	}
}
