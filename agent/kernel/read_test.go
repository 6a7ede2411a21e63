package kernel

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// TestForeignObjectsAreNotRead: what a key cannot describe, or is not in scope.
func TestForeignObjectsAreNotRead(t *testing.T) {
	l := newLab(t)
	l.apply(makeStep(default4, link4))
	before := l.state()
	for i, command := range []string{
		"rule add to 172.24.4.10 lookup 201 priority 31999",
		"rule add lookup 201 priority 32000",
		"rule add from 10.0.0.1 lookup 201 priority 32000",
		"rule add from 10.0.0.1 to 172.24.4.10 lookup 201 priority 32000",
		"rule add to 172.24.4.10 iif lo lookup 201 priority 32000",
		"rule add to 172.24.4.10 oif lo lookup 201 priority 32000",
		"rule add to 172.24.4.10 fwmark 1 lookup 201 priority 32000",
		"rule add to 172.24.4.10 tos 0x10 lookup 201 priority 32000",
		"rule add to 172.24.4.10 ipproto tcp lookup 201 priority 32000",
		"rule add to 172.24.4.10 dport 22 lookup 201 priority 32000",
		"rule add to 172.24.4.10 uidrange 0-1 lookup 201 priority 32000",
		"rule add not to 172.24.4.10 lookup 201 priority 32000",
		"rule add to 172.24.4.10 lookup 201 suppress_prefixlength 0 priority 32000",
		"rule add to 172.24.4.10 blackhole priority 32000",
		"rule add to 172.24.4.10 goto 32766 priority 32000",
		"rule add to 172.24.4.10 lookup 77 priority 32000",
		"route add 10.1.0.0/16 dev br-ex table 201 proto bgp",
		"route add blackhole 10.2.0.0/16 table 201",
		"route add local 10.3.0.0/16 dev br-ex table 201",
		"route add broadcast 10.4.255.255 dev br-ex table 201",
		"route add 10.5.0.0/16 dev br-ex table 201 tos 0x10",
		"-6 route add unreachable 2001:db8:1::/64 table 201",
		"route add 10.6.0.0/16 dev bgp-nic table 10 proto static",
		"route add 10.7.0.0/16 dev br-ex",
		"route add 10.8.0.0/16 dev br-ex table 77",
		"addr add 10.9.0.1/32 dev br-ex scope link",
		"addr add 10.9.0.2/32 dev br-big",
		"addr add 10.9.0.3/24 dev bgp-nic",
		"neigh add 10.9.0.4 lladdr fa:16:3e:00:00:0a dev br-ex nud reachable",
		"neigh add 10.9.0.5 lladdr fa:16:3e:00:00:0a dev br-big nud permanent",
		"neigh add proxy 10.9.0.6 dev br-ex",
		"-6 neigh add proxy 2001:db8::6 dev br-big",
	} {
		// Each its own destination: for the kernel some of these rules are equal.
		command = strings.ReplaceAll(command, "172.24.4.10", fmt.Sprintf("172.24.4.%d", 10+i))
		l.ip(command)
		if d := cmp.Diff(before, l.state(), comparable...); d != "" {
			t.Fatalf("ip %s (-before +after):\n%s", command, d)
		}
	}
}

// TestObjectsOfOthersAreRead: in the form in which ip(8) makes them.
func TestObjectsOfOthersAreRead(t *testing.T) {
	for command, want := range map[string]node.Want{
		"rule add to 10.0.0.1/24 lookup 201 priority 32000":                    {Key: node.Rule{Dst: prefix("10.0.0.1/24"), Table: table}, Value: present},
		"-6 rule add to 2001:db8::1/64 lookup 100201 priority 32000":           {Key: node.Rule{Dst: prefix("2001:db8::1/64"), Table: bigTable}, Value: present},
		"route add 10.1.0.0/16 dev br-ex table 100201 proto static metric 9":   {Key: node.Route{Table: bigTable, Dst: prefix("10.1.0.0/16"), Metric: 9}, Value: node.RouteSpec{Dev: bridge, Scope: node.ScopeLink, Proto: 4}},
		"-6 route add 2001:db8::10 dev br-ex table 201":                        {Key: node.Route{Table: table, Dst: prefix("2001:db8::10/128"), Metric: 1024}, Value: device6},
		"-6 route add default dev br-ex table 201":                             {Key: default6, Value: device6},
		"route add default dev br-ex table 201":                                {Key: default4, Value: link4},
		"route add 10.1.0.0/16 dev bgp-nic table 10":                           {Key: node.Route{Table: vrfTable, Dst: prefix("10.1.0.0/16")}, Value: node.RouteSpec{Dev: bgpNIC, Scope: node.ScopeLink, Proto: node.ProtoBoot}},
		"addr add 10.9.0.1/24 dev br-ex":                                       {Key: node.Address{Dev: bridge, Prefix: prefix("10.9.0.1/24")}, Value: present},
		"addr add 10.9.0.1 peer 10.9.0.2/30 dev br-ex":                         {Key: node.Address{Dev: bridge, Prefix: prefix("10.9.0.1/30")}, Value: present},
		"-6 addr add 2001:db8::1/64 dev br-ex nodad":                           {Key: node.Address{Dev: bridge, Prefix: prefix("2001:db8::1/64")}, Value: present},
		"addr add 10.9.0.3/32 dev bgp-nic":                                     {Key: node.Announcement{Prefix: prefix("10.9.0.3/32")}, Value: present},
		"-6 addr add 2001:db8::3/128 dev bgp-nic":                              {Key: node.Announcement{Prefix: prefix("2001:db8::3/128")}, Value: present},
		"neigh add 10.9.0.4 lladdr FA:16:3E:00:00:0A dev br-ex nud permanent":  {Key: node.Neighbour{Dev: bridge, IP: addr("10.9.0.4")}, Value: "fa:16:3e:00:00:0a"},
		"-6 neigh add 2001:db8::4 lladdr fa:16:3e:00:00:0a dev br-ex":          {Key: node.Neighbour{Dev: bridge, IP: addr("2001:db8::4")}, Value: "fa:16:3e:00:00:0a"},
		"-6 neigh add proxy 2001:db8:: dev br-ex":                              {Key: node.Proxy{Dev: bridge, IP: addr("2001:db8::")}, Value: present},
		"route add table 201 10.1.0.0/16 nexthop dev br-ex nexthop dev br-big": {Key: node.Route{Table: table, Dst: prefix("10.1.0.0/16")}, Value: node.RouteSpec{Proto: node.ProtoBoot}},
	} {
		t.Run(command, func(t *testing.T) {
			l := newLab(t)
			before := l.state()
			l.ip(command)
			l.expect(plus(before, want.Key, want.Value))
			l.apply(removeStep(want.Key, want.Value))
			l.expect(before)
		})
	}
}

// TestMadeObjectsAsShown compares what is made with the text of ip(8), an
// independent reader (side-effects.md §8.1).
func TestMadeObjectsAsShown(t *testing.T) {
	l := newLab(t)
	l.apply(
		makeStep(default4, link4), makeStep(default6, device6),
		makeStep(node.Address{Dev: bridge, Prefix: prefix("169.254.1.1/32")}, present),
		makeStep(node.Address{Dev: bridge, Prefix: prefix("fd53:d91e:400:7f17::1:1/128")}, present),
		makeStep(node.Rule{Dst: prefix("172.24.4.10/32"), Table: table}, present),
		makeStep(node.Rule{Dst: prefix("2001:db8::10/128"), Table: bigTable}, present),
		makeStep(node.Route{Table: table, Dst: prefix("172.24.4.10/32")}, link4),
		makeStep(node.Route{Table: table, Dst: prefix("2001:db8::10/128"), Metric: 1024}, device6),
		makeStep(node.Neighbour{Dev: bridge, IP: addr("172.24.4.10")}, "fa:16:3e:00:00:0a"),
		makeStep(node.Proxy{Dev: bridge, IP: addr("2001:db8::")}, present),
		makeStep(node.Announcement{Prefix: prefix("2001:db8::10/128")}, present),
	)
	for command, want := range map[string]string{
		"-details rule show priority 32000":                    "32000: from all to 172.24.4.10 lookup 201 proto unspec",
		"-details -6 rule show priority 32000":                 "32000: from all to 2001:db8::10 lookup 100201 proto unspec",
		"-details route show table 201":                        "unicast default dev br-ex proto boot scope link \nunicast 172.24.4.10 dev br-ex proto boot scope link",
		"-6 route show table 201":                              "2001:db8::10 dev br-ex metric 1024 pref medium\ndefault dev br-ex metric 1024 pref medium",
		"neigh show dev br-ex nud permanent":                   "172.24.4.10 lladdr fa:16:3e:00:00:0a PERMANENT",
		"-6 neigh show proxy dev br-ex":                        "2001:db8:: proxy",
		"-o -6 addr show dev br-ex to fd53:d91e:400:7f17::/64": "inet6 fd53:d91e:400:7f17::1:1/128 scope global nodad",
		"-o -4 addr show dev br-ex to 169.254.0.0/16":          "inet 169.254.1.1/32 scope global br-ex",
		"-o -6 addr show dev bgp-nic scope global":             "inet6 2001:db8::10/128 scope global nodad",
	} {
		got := strings.Join(strings.Fields(l.ip(command)), " ")
		if !strings.Contains(got, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("ip %s:\n%s\nlacks\n%s", command, got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	l := newLab(t)
	l.ip("tuntap add tap0 mode tap")
	l.ip("link add v0 type veth peer name v1")
	l.ip("link set v0 master br-big")
	l.ip("route add 10.0.0.0/8 dev br-ex table 300")
	l.ip("route add blackhole 10.0.0.0/8 table 301")
	l.ip("rule add to 10.0.0.1 lookup 302")
	l.ip("rule add to 10.0.0.2 blackhole")
	_, facts := l.read()

	for _, used := range []uint32{table, bigTable, 255, 254, 253, 300, 301, 302} {
		if _, ok := facts.UsedTables[used]; !ok {
			t.Errorf("table %d is in use and not reported", used)
		}
	}
	if n := len(facts.UsedTables); n != 8 {
		t.Errorf("%d tables in use, want 8: %v", n, facts.UsedTables)
	}
	if d := cmp.Diff(map[string]uint32{"local": 255, "main": 254, bridge: table, bigBridge: bigTable}, facts.RTTables); d != "" {
		t.Error(d)
	}
	for name, kind := range map[string]string{bridge: "bridge", "tap0": "tun", "v0": "veth", "lo": ""} {
		link, ok := facts.Links[name]
		if !ok || link.Type != kind || link.Index == 0 || link.Parent != "" {
			t.Errorf("link %s is %+v, want type %q", name, link, kind)
		}
	}
	if got := facts.Links["v0"].Master; got != bigBridge {
		t.Errorf("master of v0 is %q", got)
	}
	if want := strings.Fields(l.ip("-br link show dev " + bridge)); facts.Links[bridge].MAC != want[2] || !facts.Links[bridge].Up {
		t.Errorf("link %+v, ip says %v", facts.Links[bridge], want)
	}
	for _, on := range []string{"0", "1"} {
		l.apply(makeStep(node.Sysctl{Key: "net.ipv4.ip_forward"}, on), makeStep(node.Sysctl{Key: "net.ipv6.conf.all.forwarding"}, on))
		_, facts := l.read()
		want := map[string]bool{"net.ipv4.ip_forward": on == "1", "net.ipv6.conf.all.forwarding": on == "1"}
		if d := cmp.Diff(want, facts.Forwarding); d != "" {
			t.Error(d)
		}
	}
}

// TestSysctlOfDottedDevice: the dot of a device name is a slash in the key.
func TestSysctlOfDottedDevice(t *testing.T) {
	l := newLab(t)
	l.ip("link add br-ex.1001 type bridge")
	parameter := node.SysctlKey("ipv4", "br-ex.1001", "proxy_arp")
	l.scope.Sysctls = []string{parameter.Key, "net.ipv6.conf.br-ex/1002.proxy_ndp"}
	before := l.state()
	if before[parameter] != "0" {
		t.Fatalf("state is %v", before)
	}
	l.apply(makeStep(parameter, "1"))
	l.expect(plus(before, parameter, "1"))
}

func TestLinkUp(t *testing.T) {
	l := newLab(t)
	before := l.state()
	l.ip("link set br-ex down")
	if _, up := l.state()[node.LinkUp{Dev: bridge}]; up {
		t.Error("a device that is down is reported as up")
	}
	l.apply(makeStep(node.LinkUp{Dev: bridge}, present))
	l.expect(before)
}

// TestReadDuringChanges: an interrupted dump hides nothing that stays.
func TestReadDuringChanges(t *testing.T) {
	const stable = 800 // more than one piece of the kernel's dump
	l := newLab(t)
	for i := range stable {
		l.apply(makeStep(node.Announcement{Prefix: prefix(fmt.Sprintf("2001:db8::%x/128", i+1))}, present))
	}
	churn, err := dial(l.config.Log)
	if err != nil {
		t.Fatal(err)
	}
	index, err := l.index(context.Background(), bgpNIC)
	if err != nil {
		t.Fatal(err)
	}
	bursts, ended := make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		defer churn.close()
		for range bursts {
			for range 100 {
				// The newest address comes first in the dump: the others move up.
				_ = churn.change(addressRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE, index, prefix("2001:db8:1::1/128")))
				_ = churn.change(addressRequest(unix.RTM_DELADDR, 0, index, prefix("2001:db8:1::1/128")))
			}
		}
	})
	defer ended.Wait()
	defer close(bursts)
	for range 10 {
		bursts <- struct{}{}
		state, _, err := l.Read(context.Background(), l.scope)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for key := range state {
			if a, ok := key.(node.Announcement); ok && prefix("2001:db8::/64").Contains(a.Prefix.Addr()) {
				seen++
			}
		}
		if seen != stable {
			t.Fatalf("%d of %d addresses that never changed were read", seen, stable)
		}
	}
}
