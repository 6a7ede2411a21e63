package openflow

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ovn-bgp-agent/agent/node"
)

const (
	mac      = "3a:f7:e9:54:e8:4d"
	otherMAC = "02:00:00:00:00:07"

	patience = 10 * time.Second // for calls that are expected to succeed
)

// The reference's own commands (side-effects.md §3.2).
var references = []string{
	"cookie=999,priority=900,ip,in_port=1,actions=mod_dl_dst:" + mac + ",NORMAL",
	"cookie=999,priority=900,ipv6,in_port=1,actions=mod_dl_dst:" + mac + ",NORMAL",
}

func TestFlowsLookAsTheReferences(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	v.addBridge("br-ref")
	s, _ := v.switches(patience)
	for _, flow := range references {
		v.ofctl("add-flow", "br-ref", flow)
	}
	apply(t, s, makeTweak("br-ex", 1, false, mac), makeTweak("br-ex", 1, true, mac))
	for _, version := range []string{"OpenFlow10", "OpenFlow13", "OpenFlow14", "OpenFlow15"} {
		want := v.flows("br-ref", "-O", version)
		if got := v.flows("br-ex", "-O", version); !sameLines(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", version, got, want)
		}
	}
	if want := "cookie=0x3e7, table=0, priority=900,ip,in_port=1 actions=mod_dl_dst:" + mac + ",NORMAL"; !strings.Contains(v.flows("br-ex"), want) {
		t.Errorf("got\n%s\nwant a line\n%s", v.flows("br-ex"), want)
	}
	if got, want := rename(read(t, s, "br-ref"), "br-ex"), read(t, s, "br-ex"); !cmp.Equal(got, want) {
		t.Errorf("the reference's flows are read as %v, our own as %v", got, want)
	}
}

// sameLines compares without regard to order.
func sameLines(a, b string) bool {
	count := map[string]int{}
	for line := range strings.SplitSeq(a, "\n") {
		count[line]++
	}
	for line := range strings.SplitSeq(b, "\n") {
		count[line]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func rename(s node.State, bridge string) node.State {
	renamed := node.State{}
	for key, value := range s {
		flow := key.(node.Flow)
		flow.Bridge = bridge
		renamed[flow] = value
	}
	return renamed
}

func TestMakeReadChangeRemove(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	foreign := v.flows("br-ex")

	v4, actions4 := Tweak("br-ex", 1, false, mac)
	v6, actions6 := Tweak("br-ex", 1, true, mac)
	apply(t, s, makeTweak("br-ex", 1, false, mac), makeTweak("br-ex", 1, true, mac))
	expect(t, s, node.State{v4: actions4, v6: actions6})

	writes := s.Writes()
	apply(t, s, makeTweak("br-ex", 1, false, mac))
	if s.Writes() != writes {
		t.Error("a flow that is there was written again")
	}

	_, changed := Tweak("br-ex", 1, false, otherMAC)
	apply(t, s, node.Step{Op: node.Make, Key: v4, Value: changed, Old: actions4})
	expect(t, s, node.State{v4: changed, v6: actions6})

	apply(t, s, node.Step{Op: node.Remove, Key: v4, Old: changed})
	expect(t, s, node.State{v6: actions6})
	apply(t, s, node.Step{Op: node.Remove, Key: v4}, node.Step{Op: node.Remove, Key: v6})
	expect(t, s, node.State{})
	if got := v.flows("br-ex"); got != foreign {
		t.Errorf("flows are\n%s\nand were\n%s", got, foreign)
	}
}

func expect(t *testing.T, s *Switches, want node.State) {
	t.Helper()
	if d := cmp.Diff(want, read(t, s, "br-ex")); d != "" {
		t.Errorf("flows (-want +got):\n%s", d)
	}
}

// Leftovers of other methods and by other hands, each with our cookie.
var leftovers = []struct {
	flow string
	key  node.Flow
	want string
}{
	{"priority=1000,ip,in_port=1,actions=mod_dl_dst:40:44:00:00:00:06,NORMAL",
		node.Flow{Priority: 1000, Match: "ip,in_port=1"}, "mod_dl_dst:40:44:00:00:00:06,NORMAL"},
	{"priority=1000,ip,nw_dst=172.24.4.0/24,in_port=3,actions=mod_dl_dst:" + mac + ",output=2",
		node.Flow{Priority: 1000, Match: "ip,in_port=3,nw_dst=172.24.4.0/24"}, "mod_dl_dst:" + mac + ",output:2"},
	{"priority=900,ip,in_port=1,nw_dst=192.0.2.1,actions=LOCAL",
		node.Flow{Priority: 900, Match: "ip,in_port=1,nw_dst=192.0.2.1"}, "LOCAL"},
	{"priority=900,ipv6,in_port=LOCAL,dl_src=" + mac + ",dl_dst=" + otherMAC + ",ipv6_src=2001:db8::1,ipv6_dst=2001:db8::/64,actions=drop",
		node.Flow{Priority: 900, Match: "ipv6,in_port=LOCAL,dl_src=" + mac + ",dl_dst=" + otherMAC + ",ipv6_src=2001:db8::1,ipv6_dst=2001:db8::/64"}, "drop"},
	{"priority=900,arp,actions=FLOOD,CONTROLLER:128", node.Flow{Priority: 900, Match: "arp"}, "FLOOD,CONTROLLER:128"},
	{"priority=5,actions=NORMAL", node.Flow{Priority: 5}, "NORMAL"},
	{"priority=900,idle_timeout=3600,ip,in_port=4,actions=NORMAL",
		node.Flow{Priority: 900, Match: "ip,in_port=4"}, "idle_timeout=3600,hard_timeout=0,NORMAL"},
	// No text of ours: OXM TLVs as OpenFlow 1.3 and Nicira's extensions have them.
	{"priority=900,tcp,in_port=1,tp_dst=179,actions=NORMAL",
		node.Flow{Priority: 900, Match: "raw:80000004" + "00000001" + "80000a02" + "0800" + "80001401" + "06" + "80001c02" + "00b3"}, "NORMAL"},
	{"priority=900,in_port=2,reg0=7,actions=NORMAL",
		node.Flow{Priority: 900, Match: "raw:80000004" + "00000002" + "00010004" + "00000007"}, "NORMAL"},
	{"priority=900,ip,in_port=5,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=NORMAL",
		node.Flow{Priority: 900, Match: "raw:80000004" + "00000005" + "8000070c" + "010000000000010000000000" + "80000a02" + "0800"}, "NORMAL"},
	{"priority=900,ip,in_port=6,actions=strip_vlan,NORMAL",
		node.Flow{Priority: 900, Match: "ip,in_port=6"},
		"raw:00040020" + "00000000" + "00120008" + "00000000" + "00000010" + "fffffffa" + "0000000000000000"},
}

func TestLeftoversAreReadAndRemovedOneByOne(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	want := node.State{}
	for _, l := range leftovers {
		v.ofctl("add-flow", "br-ex", "cookie=999,"+l.flow)
		key := l.key
		key.Bridge = "br-ex"
		want[key] = l.want
	}
	expect(t, s, want)
	for _, l := range leftovers {
		key := l.key
		key.Bridge = "br-ex"
		apply(t, s, node.Step{Op: node.Remove, Key: key, Old: l.want})
		delete(want, key)
		expect(t, s, want)
	}
}

func TestOtherCookiesAndTablesAreNeitherReadNorTouched(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	for _, flow := range []string{
		"cookie=998,priority=900,ip,in_port=1,actions=drop",
		"cookie=0x10003e7,priority=900,ipv6,in_port=1,actions=drop",
		"cookie=0,priority=900,arp,actions=drop",
		"cookie=999,table=3,priority=900,ip,in_port=1,actions=drop",
	} {
		v.ofctl("add-flow", "br-ex", flow)
	}
	before := v.flows("br-ex")
	expect(t, s, node.State{})
	for _, v6 := range []bool{false, true} {
		step := makeTweak("br-ex", 1, v6, mac)
		if err := s.Apply(context.Background(), step); !errors.Is(err, ErrForeignFlow) {
			t.Errorf("replacing a flow of another cookie: %v", err)
		}
		apply(t, s, node.Step{Op: node.Remove, Key: step.Key})
	}
	if got := v.flows("br-ex"); got != before {
		t.Errorf("flows are\n%s\nand were\n%s", got, before)
	}
}

func TestManyFlowsComeInSeveralParts(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	const ports = 1000
	want := node.State{}
	for port := 1; port <= ports; port++ {
		step := makeTweak("br-ex", port, port%2 == 0, mac)
		apply(t, s, step)
		want[step.Key] = step.Value
	}
	expect(t, s, want)
	if s.Writes() != ports {
		t.Errorf("%d writes for %d flows", s.Writes(), ports)
	}
}

func TestSwitchRefusesAFlow(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(patience)
	for match, want := range map[string]string{
		"nw_dst=192.0.2.1":      "OFPET_BAD_MATCH OFPBMC_BAD_PREREQ",
		"raw:7fff000400000001":  "OFPET_BAD_MATCH OFPBMC_BAD_FIELD",
		"in_port=1,in_port=2":   "OFPET_BAD_MATCH OFPBMC_DUP_FIELD",
		"in_port=0":             "not a port number",
		"dl_vlan=3":             `unknown field "dl_vlan"`,
		"nw_src=2001:db8::1":    "of the other family",
		"raw:8":                 "odd length",
		"ip,nw_src=192.0.2.1/x": "prefix length",
	} {
		step := node.Step{Op: node.Make, Key: node.Flow{Bridge: "br-ex", Priority: 900, Match: match}, Value: "NORMAL"}
		if err := s.Apply(context.Background(), step); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "br-ex") {
			t.Errorf("%s: %v, want %s", match, err, want)
		}
	}
	apply(t, s, makeTweak("br-ex", 1, false, mac))
	if len(lost) > 0 {
		t.Error("an error ended the connection")
	}
}

func TestOneFailingBridgeDoesNotHideTheOthers(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	apply(t, s, makeTweak("br-ex", 1, false, mac))
	state, failed := s.Read(context.Background(), []string{"br-gone", "br-ex"})
	if len(state) != 1 || len(failed) != 1 || failed["br-gone"] == nil || !strings.Contains(failed["br-gone"].Error(), "br-gone") {
		t.Errorf("state %v, failed %v", state, failed)
	}
	if err := s.Apply(context.Background(), makeTweak("br-gone", 1, false, mac)); err == nil || !strings.Contains(err.Error(), "br-gone") {
		t.Errorf("flow on an absent bridge: %v", err)
	}
}

func TestRestrictedProtocols(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-13", "protocols=OpenFlow13")
	v.addBridge("br-14", "protocols=OpenFlow10,OpenFlow14")
	v.addBridge("br-10", "protocols=OpenFlow10")
	v.addBridge("br-15", "protocols=OpenFlow15")
	s, _ := v.switches(patience)
	for _, bridge := range []string{"br-13", "br-14"} {
		step := makeTweak(bridge, 1, false, mac)
		apply(t, s, step)
		if d := cmp.Diff(node.State{step.Key: step.Value}, read(t, s, bridge)); d != "" {
			t.Errorf("%s (-want +got):\n%s", bridge, d)
		}
	}
	for bridge, allowed := range map[string]string{"br-10": "OpenFlow10", "br-15": "OpenFlow15"} {
		_, failed := s.Read(context.Background(), []string{bridge})
		want := "connect to bridge " + bridge + ": exchange of OpenFlow HELLO: the bridge allows only protocols " + allowed + ", and one of OpenFlow13,OpenFlow14 is needed"
		if err := failed[bridge]; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestKilledSwitchIsLostAndFoundAgain(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(patience)
	step := makeTweak("br-ex", 1, false, mac)
	apply(t, s, step)
	v.kill()
	awaitLost(t, lost, "br-ex")
	started := time.Now()
	if _, failed := s.Read(context.Background(), []string{"br-ex"}); failed["br-ex"] == nil {
		t.Error("read from a dead switch")
	}
	if err := s.Apply(context.Background(), step); err == nil {
		t.Error("flow made on a dead switch")
	}
	if took := time.Since(started); took > patience {
		t.Errorf("failing took %v", took)
	}
	v.start()
	eventually(t, "flow made again", func() bool { return s.Apply(context.Background(), step) == nil })
	expect(t, s, node.State{step.Key: step.Value})
}

func TestRemadeBridgeIsLost(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(patience)
	step := makeTweak("br-ex", 1, false, mac)
	apply(t, s, step)
	v.vsctl("del-br", "br-ex")
	awaitLost(t, lost, "br-ex")
	v.addBridge("br-ex")
	eventually(t, "flow made again", func() bool { return s.Apply(context.Background(), step) == nil })
	expect(t, s, node.State{step.Key: step.Value})
}

func TestStoppedSwitchGivesAnErrorInTime(t *testing.T) {
	const timeout = 200 * time.Millisecond
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(timeout)
	step := makeTweak("br-ex", 1, false, mac)
	eventually(t, "flow made", func() bool { return s.Apply(context.Background(), step) == nil })
	v.signal(syscall.SIGSTOP)
	for _, try := range []string{"on the open connection", "on a new connection"} {
		started := time.Now()
		_, failed := s.Read(context.Background(), []string{"br-ex"})
		if err := failed["br-ex"]; err == nil || !strings.Contains(err.Error(), "br-ex") {
			t.Errorf("%s: %v", try, err)
		}
		if took := time.Since(started); took > timeout+2*time.Second {
			t.Errorf("%s: the error took %v", try, took)
		}
	}
	awaitLost(t, lost, "br-ex")
	v.signal(syscall.SIGCONT)
	eventually(t, "flow readable again", func() bool {
		state, failed := s.Read(context.Background(), []string{"br-ex"})
		return len(failed) == 0 && cmp.Equal(state, node.State{step.Key: step.Value})
	})
}

func TestContextEndsACall(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(patience)
	read(t, s, "br-ex")
	v.signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, failed := s.Read(ctx, []string{"br-ex"}); !errors.Is(failed["br-ex"], context.DeadlineExceeded) {
		t.Errorf("got %v", failed)
	}
	v.signal(syscall.SIGCONT)
	read(t, s, "br-ex")
	if len(lost) > 0 {
		t.Error("the connection was given up")
	}
}

func TestCloseIsQuietAndFinal(t *testing.T) {
	v := startVswitch(t)
	v.addBridge("br-ex")
	s, lost := v.switches(patience)
	read(t, s, "br-ex")
	s.Close()
	if len(lost) > 0 {
		t.Error("Lost was called for Close")
	}
	if _, failed := s.Read(context.Background(), []string{"br-ex"}); !errors.Is(failed["br-ex"], errClosed) {
		t.Errorf("read after Close: %v", failed)
	}
}

func awaitLost(t *testing.T, lost <-chan string, bridge string) {
	t.Helper()
	select {
	case got := <-lost:
		if got != bridge {
			t.Errorf("lost %s, want %s", got, bridge)
		}
	case <-time.After(patience):
		t.Fatalf("bridge %s not reported as lost", bridge)
	}
}

func BenchmarkMakeAndRemove(b *testing.B) {
	v := startVswitch(b)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	step := makeTweak("br-ex", 1, false, mac)
	for b.Loop() {
		if err := errors.Join(s.Apply(context.Background(), step), s.Apply(context.Background(), node.Step{Op: node.Remove, Key: step.Key})); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	v := startVswitch(b)
	v.addBridge("br-ex")
	s, _ := v.switches(patience)
	for b.Loop() {
		if _, failed := s.Read(context.Background(), []string{"br-ex"}); len(failed) > 0 {
			b.Fatal(failed)
		}
	}
}

func BenchmarkOfctlMakeAndRemove(b *testing.B) {
	v := startVswitch(b)
	v.addBridge("br-ex")
	for b.Loop() {
		v.ofctl("add-flow", "br-ex", references[0])
		v.ofctl("del-flows", "br-ex", "--strict", "cookie=999/-1,priority=900,ip,in_port=1")
	}
}

func BenchmarkOfctlRead(b *testing.B) {
	v := startVswitch(b)
	v.addBridge("br-ex")
	for b.Loop() {
		v.ofctl("dump-flows", "br-ex", "cookie=999/-1")
	}
}
