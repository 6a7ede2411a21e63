package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/kernel"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
	"ovn-bgp-agent/agent/wiring"
)

// fakeNode is a node that does what it is told; refuse makes steps fail.
type fakeNode struct {
	state  node.State
	facts  node.Facts
	refuse func(node.Step) error
	steps  []string
}

func newFakeNode() *fakeNode {
	return &fakeNode{
		state:  node.State{},
		facts:  node.Facts{Links: map[string]node.Link{"br-ex": {Index: 7, MAC: "3a:f7:e9:54:e8:4d", Up: true}}, RTTables: map[string]uint32{"br-ex": 201}},
		refuse: func(node.Step) error { return nil },
	}
}

func (f *fakeNode) Read(context.Context, kernel.Scope) (node.State, node.Facts, error) {
	state := node.State{}
	for key, value := range f.state {
		if key.Kind() != node.KindFlow {
			state[key] = value
		}
	}
	facts := f.facts
	facts.Links = maps.Clone(f.facts.Links)
	return state, facts, nil
}

func (f *fakeNode) Apply(_ context.Context, s node.Step) error {
	f.steps = append(f.steps, s.Op.String()+" "+s.Key.String())
	if err := f.refuse(s); err != nil {
		return err
	}
	if s.Op == node.Remove {
		delete(f.state, s.Key)
	} else {
		f.state[s.Key] = s.Value
	}
	return nil
}

func (f *fakeNode) WatchLinks(ctx context.Context, _ func(string, node.Link, bool), _ func()) error {
	<-ctx.Done()
	return nil
}

func (f *fakeNode) Writes() map[node.Kind]uint64 { return nil }

// fakeSwitch is the switch of a fakeNode.
type fakeSwitch struct{ *fakeNode }

func (f fakeSwitch) Read(context.Context, []string) (node.State, map[string]error) {
	flows := node.State{}
	for key, value := range f.state {
		if key.Kind() == node.KindFlow {
			flows[key] = value
		}
	}
	return flows, nil
}

func (f fakeSwitch) Writes() uint64 { return 0 }

func (f *fakeNode) announced() string {
	var list []string
	for key := range f.state {
		if key.Kind() == node.KindAnnouncement {
			list = append(list, key.Subject().Addr().String())
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (f *fakeNode) takeSteps() []string {
	steps := f.steps
	f.steps = nil
	return steps
}

// bench is a core with a fake node and rows written by hand.
type bench struct {
	*core
	t     testing.TB
	node  *fakeNode
	clock time.Time
}

func newBench(t testing.TB, f *fakeNode) *bench {
	b := &bench{t: t, node: f, clock: time.Unix(1000, 0)}
	parts := Parts{Driver: exposure.Northbound(exposure.Settings{}), Kernel: f, Switch: fakeSwitch{f}}.Underlay()
	settings := Settings{Names: wiring.Names{BGPNIC: "bgp-nic", BGPVRF: "bgp-vrf", VRFTable: 10}, MassWithdrawGuard: true}
	b.core = newCore(settings, parts, slog.New(slog.NewTextHandler(io.Discard, nil)))
	b.core.now = func() time.Time { return b.clock }
	b.core.identified = func(exposure.Identity) {}
	return b
}

func (b *bench) vswitch(complete bool, ofport ...any) {
	const patch = "patch-provnet-n1-to-br-int"
	tables := map[string]map[string]libovsdb.Row{
		"Bridge":    {"br": {"name": "br-ex", "ports": libovsdb.OvsSet{GoSet: []any{libovsdb.UUID{GoUUID: "p"}}}}},
		"Port":      {"p": {"name": patch}},
		"Interface": {"i": {"name": patch, "ofport": libovsdb.OvsSet{GoSet: ofport}}},
		"Open_vSwitch": {"o": {"external_ids": libovsdb.OvsMap{GoMap: map[any]any{
			"hostname": "cmp1", "system-id": "id-cmp1", "ovn-bridge-mappings": "public:br-ex"}}}},
	}
	b.change(client.Change{Database: ovsdb.OpenVSwitch, Complete: complete, Tables: tables})
	b.work(context.Background())
}

// northbound delivers VMs 1 … n on a flat provider network, as a whole download.
func (b *bench) northbound(n int) {
	ports := map[string]libovsdb.Row{"l": {
		"name": "provnet-n1", "type": "localnet", "options": libovsdb.OvsMap{GoMap: map[any]any{"network_name": "public"}}}}
	for i := 1; i <= n; i++ {
		ports[fmt.Sprint("vm", i)] = vmRow(i, true)
	}
	b.change(client.Change{Database: ovsdb.Northbound, Complete: true, Tables: map[string]map[string]libovsdb.Row{
		"Logical_Switch_Port": ports,
		"Logical_Switch":      {"s": {"name": "neutron-n1", "ports": libovsdb.OvsSet{GoSet: []any{libovsdb.UUID{GoUUID: "l"}}}}},
	}})
	b.work(context.Background())
}

func vmRow(i int, up bool) libovsdb.Row {
	return libovsdb.Row{
		"name": fmt.Sprint("vm", i), "type": "", "up": libovsdb.OvsSet{GoSet: []any{up}},
		"addresses":    libovsdb.OvsSet{GoSet: []any{fmt.Sprintf("fa:16:3e:00:00:01 172.24.%d.%d", 4+i/250, i%250)}},
		"options":      libovsdb.OvsMap{GoMap: map[any]any{"requested-chassis": "cmp1"}},
		"external_ids": libovsdb.OvsMap{GoMap: map[any]any{"neutron:network_name": "neutron-n1"}},
	}
}

func (b *bench) vm(i int, row libovsdb.Row) {
	b.change(client.Change{Database: ovsdb.Northbound, Tables: map[string]map[string]libovsdb.Row{
		"Logical_Switch_Port": {fmt.Sprint("vm", i): row}}})
	b.work(context.Background())
}

// after lets time pass and does what has become due.
func (b *bench) after(d time.Duration) {
	b.clock = b.clock.Add(d)
	b.tick()
	b.work(context.Background())
}

func (b *bench) expect(announced, when string) {
	b.t.Helper()
	if got := b.node.announced(); got != announced {
		b.t.Errorf("%s: announced %q, want %q", when, got, announced)
	}
}

func (b *bench) state(port string) string {
	for _, x := range b.report().Exposures {
		if x.Port == port {
			return x.State
		}
	}
	return ""
}

func TestNothingIsDoneBeforeEveryDownload(t *testing.T) {
	b := newBench(t, newFakeNode())
	b.northbound(1)
	if steps := b.node.takeSteps(); len(steps) != 0 {
		t.Errorf("before Open_vSwitch was downloaded: %q", steps)
	}
	b.vswitch(true, 1)
	b.expect("172.24.4.1", "after both downloads")
	if b.syncs.count != 1 {
		t.Errorf("%d syncs", b.syncs.count)
	}
}

func TestRestartAndSyncWriteNothing(t *testing.T) {
	f := newFakeNode()
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(3)
	f.takeSteps()

	b.requestSync("test")
	b.work(context.Background())
	if steps := f.takeSteps(); len(steps) != 0 {
		t.Errorf("a second sync did %q", steps)
	}
	again := newBench(t, f)
	again.vswitch(true, 1)
	again.northbound(3)
	if steps := f.takeSteps(); len(steps) != 0 {
		t.Errorf("a restarted agent did %q", steps)
	}
	again.vm(2, nil)
	want := []string{
		"remove announce 172.24.4.2/32", "remove route 172.24.4.2/32 table 201",
		"remove neigh 172.24.4.2 dev br-ex", "remove rule to 172.24.4.2/32 lookup 201 priority 32000",
	}
	if steps := f.takeSteps(); !slices.Equal(steps, want) {
		t.Errorf("a restarted agent withdraws by %q", steps)
	}
}

func TestPatchPortArrivesLate(t *testing.T) {
	b := newBench(t, newFakeNode())
	b.vswitch(true)
	b.northbound(1)
	b.expect("", "without an ofport")
	if got := b.state("vm1"); got != statePending {
		t.Errorf("state %q", got)
	}
	b.vswitch(false, -1)
	b.expect("", "with ofport -1")
	b.vswitch(false, 7)
	b.expect("172.24.4.1", "when the ofport is there")
	if b.syncs.count != 1 {
		t.Errorf("it took %d syncs", b.syncs.count)
	}
}

func TestAnnouncedStaysWhileThePatchPortIsRemade(t *testing.T) {
	b := newBench(t, newFakeNode())
	b.vswitch(true, 7)
	b.northbound(1)
	b.vswitch(false)
	b.expect("172.24.4.1", "when the ofport is gone")
	b.after(graceTime - time.Millisecond)
	b.expect("172.24.4.1", "just before the grace ends")
	b.vswitch(false, 9)
	b.expect("172.24.4.1", "with another ofport")
	for key := range b.node.state {
		if f, ok := key.(node.Flow); ok && !strings.HasSuffix(f.Match, "in_port=9") {
			t.Errorf("the flow %s is left", f)
		}
	}

	b.vswitch(false)
	b.after(graceTime)
	b.expect("", "when the grace has ended")
	b.vswitch(false, 9)
	b.expect("172.24.4.1", "when it is back")

	b.vswitch(false)
	b.vm(1, vmRow(1, false))
	b.expect("", "when the port goes down meanwhile")
}

func TestFailedStepIsRetriedAndAnnouncedLast(t *testing.T) {
	f := newFakeNode()
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(0)
	broken := errors.New("no")
	f.refuse = func(s node.Step) error {
		if s.Key.Kind() == node.KindNeighbour && s.Key.Subject().Addr() == netip.MustParseAddr("172.24.4.1") {
			return broken
		}
		return nil
	}
	b.vm(1, vmRow(1, true))
	b.vm(2, vmRow(2, true))
	b.expect("172.24.4.2", "while a neighbour is refused")
	if got := b.state("vm1"); got != stateFailed {
		t.Errorf("state %q", got)
	}
	f.refuse = func(node.Step) error { return nil }
	b.after(b.next().Sub(b.clock))
	b.expect("172.24.4.1 172.24.4.2", "after the retry")
	if !b.next().IsZero() {
		t.Error("something is still due")
	}
	if got := b.state("vm1"); got != stateApplied {
		t.Errorf("state %q", got)
	}
}

func TestRepairThatFailsTooLongWithdraws(t *testing.T) {
	f := newFakeNode()
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(1)
	f.refuse = func(s node.Step) error {
		if s.Key.Kind() == node.KindFlow {
			return errors.New("switch is dead")
		}
		return nil
	}
	b.lostFlows("br-ex")
	b.work(context.Background())
	b.after(time.Second)
	b.expect("172.24.4.1", "while the flows are being repaired")
	b.after(graceTime)
	b.expect("", "when repair has failed for too long")
	f.refuse = func(node.Step) error { return nil }
	b.after(maxRetry)
	b.expect("172.24.4.1", "when the switch is back")
}

func TestMassWithdrawalIsHeld(t *testing.T) {
	f := newFakeNode()
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(20)
	all := f.announced()

	b.northbound(5)
	b.expect(all, "after a download that lost 15 of 20")
	if r := b.report(); !r.Guard.Held || len(r.Guard.Withdrawals) != 15 || len(r.Problems) == 0 {
		t.Errorf("guard %+v, problems %v", r.Guard, r.Problems)
	}
	b.vm(1, nil)
	if strings.Contains(" "+f.announced()+" ", " 172.24.4.1 ") {
		t.Error("an ordinary withdrawal is held too")
	}
	b.northbound(20)
	b.expect(all, "when the rows are back")
	if b.report().Guard.Held {
		t.Error("still held")
	}

	b.northbound(5)
	if b.guard.release() {
		b.requestSync("confirmed")
	}
	b.work(context.Background())
	b.expect("172.24.4.1 172.24.4.2 172.24.4.3 172.24.4.4 172.24.4.5", "after the confirmation")

	b.northbound(20)
	for i := 6; i <= 20; i++ {
		b.vm(i, nil)
	}
	b.expect("172.24.4.1 172.24.4.2 172.24.4.3 172.24.4.4 172.24.4.5", "after ordinary deletions")
}

// One port going down and up must cost the same in a small and in a large cloud.
func BenchmarkPortDownAndUp(b *testing.B) {
	for _, ports := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(ports, " ports"), func(b *testing.B) {
			c := newBench(b, newFakeNode())
			c.vswitch(true, 1)
			c.northbound(ports)
			down, up := vmRow(7, false), vmRow(7, true)
			for b.Loop() {
				c.vm(7, down)
				c.vm(7, up)
			}
		})
	}
}

func TestRowMadeAnewKeepsItsAnnouncement(t *testing.T) {
	for _, uuids := range [][2]string{{"a", "b"}, {"b", "a"}} {
		b := newBench(t, newFakeNode())
		b.vswitch(true, 1)
		b.northbound(0)
		change := func(rows map[string]libovsdb.Row) {
			b.change(client.Change{Database: ovsdb.Northbound, Tables: map[string]map[string]libovsdb.Row{"Logical_Switch_Port": rows}})
			b.work(context.Background())
		}
		change(map[string]libovsdb.Row{uuids[0]: vmRow(1, true)})
		b.node.takeSteps()
		change(map[string]libovsdb.Row{uuids[0]: nil, uuids[1]: vmRow(1, true)})
		if steps := b.node.takeSteps(); len(steps) != 0 {
			t.Errorf("the row of %v was made anew, which did %q", uuids, steps)
		}
		b.expect("172.24.4.1", "after the row was made anew")
		change(map[string]libovsdb.Row{uuids[1]: nil})
		b.expect("", "after the new row is gone")
	}
}

func TestProblemEndsWithWhatItIsAbout(t *testing.T) {
	f := newFakeNode()
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(0)
	f.refuse = func(s node.Step) error {
		if s.Key.Kind() == node.KindRule {
			return errors.New("no")
		}
		return nil
	}
	b.vm(1, vmRow(1, true))
	if len(b.report().Problems) != 1 {
		t.Errorf("problems %v", b.report().Problems)
	}
	b.vm(1, nil)
	if problems := b.report().Problems; len(problems) != 0 {
		t.Errorf("problems after the port is gone: %v", problems)
	}
}

func TestMappingsThatChangeAreReadAnew(t *testing.T) {
	f := newFakeNode()
	f.facts.Links["br-two"] = node.Link{Index: 8, MAC: "3a:f7:e9:54:e8:4e", Up: true}
	b := newBench(t, f)
	b.vswitch(true, 1)
	b.northbound(1)
	root := libovsdb.Row{"external_ids": libovsdb.OvsMap{GoMap: map[any]any{"hostname": "cmp1", "system-id": "id-cmp1", "ovn-bridge-mappings": "public:br-two"}}}
	b.change(client.Change{Database: ovsdb.OpenVSwitch, Tables: map[string]map[string]libovsdb.Row{"Open_vSwitch": {"o": root}}})
	b.work(context.Background())
	b.expect("172.24.4.1", "after the network was mapped to another bridge")
	if b.syncs.count != 2 {
		t.Errorf("%d syncs", b.syncs.count)
	}
	for key, value := range f.state {
		if route, ok := key.(node.Route); ok && value.(node.RouteSpec).Dev == "br-ex" {
			t.Errorf("%s is left on the old bridge", route)
		}
	}
}
