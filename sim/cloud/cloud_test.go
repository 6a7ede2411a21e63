package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ovn-bgp-agent/sim/ovsdb"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func server(t *testing.T, name string, release ...string) ovsdb.Server {
	t.Helper()
	s, err := ovsdb.BuiltinSchema(name, release...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ovsdb.NewMemory(s, "unix:"+filepath.Join(t.TempDir(), "db.sock"), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// patches records what PatchPorts is asked for.
type patches struct {
	log []string
	err error
}

func (p *patches) Add(_ context.Context, bridge, localnet string) error {
	p.log = append(p.log, "add "+bridge+" "+localnet)
	return p.err
}

func (p *patches) Remove(_ context.Context, bridge, localnet string) error {
	p.log = append(p.log, "remove "+bridge+" "+localnet)
	return p.err
}

func (p *patches) take() []string {
	log := p.log
	p.log = nil
	return log
}

type bench struct {
	*Cloud
	t      *testing.T
	ctx    context.Context
	nb, sb ovsdb.Server
	patch  *patches // of cmp1
}

func newBench(t *testing.T, release ...string) *bench {
	t.Helper()
	b := &bench{t: t, ctx: testContext(t), nb: server(t, "OVN_Northbound", release...), sb: server(t, "OVN_Southbound", release...), patch: &patches{}}
	b.Cloud = New(Config{NB: b.nb, SB: b.sb, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Hosts: []Host{
		{Name: "cmp1", SystemID: "ch1", BridgeMappings: map[string]string{"public": "br-ex", "other": "br-other"}, Patch: b.patch},
		{Name: "cmp2", SystemID: "ch2", BridgeMappings: map[string]string{"public": "br-ex"}},
	}})
	b.do(b.Start(b.ctx))
	return b
}

func (b *bench) do(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) flatNetwork() {
	b.t.Helper()
	b.do(b.CreateNetwork(b.ctx, ProviderNetwork{Name: "n1", Physnet: "public", Subnets: prefixes("172.24.4.0/24", "2001:db8::/64")}))
}

func vm1() VM {
	return VM{Name: "vm1", Network: "n1", Host: "cmp1", MAC: "fa:16:3e:7d:50:ad", Addresses: addrs("172.24.4.10", "2001:db8::10")}
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func addrs(texts ...string) []netip.Addr {
	out := make([]netip.Addr, len(texts))
	for i, s := range texts {
		out[i] = netip.MustParseAddr(s)
	}
	return out
}

// watch records both databases; the returned function gives the changes so far
// as "table: column=value …", one string per transaction.
func watch(b *bench, s ovsdb.Server, tables map[string][]string) func() []string {
	b.t.Helper()
	w, err := ovsdb.Watch(b.ctx, s.Endpoint(), s.Schema().Name(), tables)
	b.do(err)
	b.t.Cleanup(w.Close)
	return func() []string {
		b.t.Helper()
		batches, err := w.Updates(b.ctx)
		b.do(err)
		var out []string
		for _, batch := range batches {
			var parts []string
			for _, c := range batch {
				parts = append(parts, changeText(c))
			}
			out = append(out, strings.Join(parts, "; "))
		}
		return out
	}
}

func changeText(c ovsdb.RowChange) string {
	switch {
	case c.New == nil:
		return "delete " + c.Table
	case c.Old == nil:
		return "insert " + c.Table + columnsText(c, slices.Sorted(maps.Keys(c.New)))
	}
	return "update " + c.Table + columnsText(c, slices.Sorted(maps.Keys(c.Old)))
}

func columnsText(c ovsdb.RowChange, columns []string) string {
	text := ""
	for _, name := range columns {
		value := fmt.Sprint(ovsdb.Strings(c.New[name]))
		if m := ovsdb.StringMap(c.New[name]); m != nil {
			value = m["requested-chassis"] + m["neutron:host_id"]
		}
		text += " " + name + "=" + value
	}
	return text
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (b *bench) expect(host string, want ...string) {
	b.t.Helper()
	var got []string
	for _, p := range b.Expected(host) {
		got = append(got, p.String())
	}
	equal(b.t, "expected on "+host, got, want)
}

func TestOrderOfUpdatesOfABoot(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	nb := watch(b, b.nb, map[string][]string{"Logical_Switch_Port": {"up", "options", "external_ids"}})
	sb := watch(b, b.sb, map[string][]string{"Port_Binding": {"up", "chassis", "options"}})
	b.do(b.BootVM(b.ctx, vm1()))
	chassis := string(b.hosts["cmp1"].chassis)
	equal(t, "northbound", nb(), []string{
		"insert Logical_Switch_Port external_ids= options= up=[]",
		"update Logical_Switch_Port external_ids=cmp1 options=cmp1",
		"update Logical_Switch_Port up=[false]",
		"update Logical_Switch_Port up=[true]",
	})
	equal(t, "southbound", sb(), []string{
		"insert Port_Binding chassis=[] options= up=[false]",
		"update Port_Binding options=cmp1",
		"update Port_Binding chassis=[" + chassis + "]",
		"update Port_Binding up=[true]",
	})
	b.do(b.StopVM(b.ctx, "vm1"))
	b.do(b.StartVM(b.ctx, "vm1"))
	b.do(b.DeleteVM(b.ctx, "vm1"))
	equal(t, "northbound", nb(), []string{"update Logical_Switch_Port up=[false]", "update Logical_Switch_Port up=[true]", "update Logical_Switch_Port up=[false]", "delete Logical_Switch_Port"})
	equal(t, "southbound", sb(), []string{
		"update Port_Binding chassis=[] up=[false]", "update Port_Binding chassis=[" + chassis + "]", "update Port_Binding up=[true]",
		"update Port_Binding chassis=[] up=[false]", "delete Port_Binding",
	})
}

func TestRowsOfAPort(t *testing.T) {
	for _, release := range []string{"23.03", "25.09"} {
		b := newBench(t, release)
		b.do(b.CreateNetwork(b.ctx, ProviderNetwork{Name: "n1", Physnet: "public", VLAN: 1001, Subnets: prefixes("172.24.4.0/24", "2001:db8::/64")}))
		b.do(b.BootVM(b.ctx, vm1()))
		lsp := b.row(b.nb, "Logical_Switch_Port", "name", b.PortID("vm1"))
		ids := ovsdb.StringMap(lsp["external_ids"])
		for key, want := range map[string]string{
			"neutron:cidrs": "172.24.4.10/24 2001:db8::10/64", "neutron:network_name": b.LogicalSwitch("n1"),
			"neutron:device_owner": "compute:nova", "neutron:port_name": "vm1", "neutron:host_id": "cmp1", "neutron:revision_number": "2",
		} {
			if ids[key] != want {
				t.Errorf("%s is %q, want %q", key, ids[key], want)
			}
		}
		const addresses = "fa:16:3e:7d:50:ad 172.24.4.10 2001:db8::10"
		if got := ovsdb.Strings(lsp["addresses"]); !slices.Equal(got, []string{addresses}) {
			t.Errorf("addresses are %q", got)
		}
		if got := ovsdb.StringMap(lsp["options"])["requested-chassis"]; got != "cmp1" {
			t.Errorf("requested-chassis is %q", got)
		}
		pb := b.row(b.sb, "Port_Binding", "logical_port", b.PortID("vm1"))
		if got := ovsdb.Strings(pb["mac"]); !slices.Equal(got, []string{addresses}) {
			t.Errorf("mac is %q", got)
		}
		if !maps.Equal(ovsdb.StringMap(pb["external_ids"]), ids) {
			t.Errorf("external_ids of the Port_Binding are %v", pb["external_ids"])
		}
		if got := ovsdb.Strings(pb["requested_chassis"]); !slices.Equal(got, ovsdb.Strings(pb["chassis"])) || len(got) != 1 {
			t.Errorf("requested_chassis is %v", got)
		}
		for _, row := range []map[string]any{b.row(b.nb, "Logical_Switch_Port", "name", b.LocalnetPort("n1")), b.row(b.sb, "Port_Binding", "logical_port", b.LocalnetPort("n1"))} {
			if fmt.Sprint(row["tag"]) != "1001" || ovsdb.StringMap(row["options"])["network_name"] != "public" || row["type"] != "localnet" {
				t.Errorf("localnet: %v", row)
			}
		}
		if b.row(b.sb, "Chassis", "name", "ch1")["hostname"] != "cmp1" {
			t.Error("chassis has not the host's name")
		}
		if got := len(ovsdb.Strings(b.row(b.sb, "Chassis_Private", "name", "ch1")["chassis"])); got != 1 {
			t.Errorf("Chassis_Private refers to %d chassis", got)
		}
	}
}

func (b *bench) row(s ovsdb.Server, table, column, value string) map[string]any {
	b.t.Helper()
	results, err := s.Transact(b.ctx, ovsdb.Select(table, nil, ovsdb.Is(column, value)))
	b.do(err)
	if len(results[0].Rows) != 1 {
		b.t.Fatalf("%d rows in %s with %s=%s", len(results[0].Rows), table, column, value)
	}
	return results[0].Rows[0]
}

func TestExpectedFollowsIntent(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	b.do(b.CreateNetwork(b.ctx, ProviderNetwork{Name: "only1", Physnet: "other", VLAN: 7, Subnets: prefixes("10.9.0.0/24")}))
	b.expect("cmp1")
	b.do(b.CreatePort(b.ctx, vm1()))
	b.expect("cmp1")
	b.do(b.BindPort(b.ctx, "vm1", "cmp1"))
	b.expect("cmp1")
	b.do(b.PortUp(b.ctx, "vm1"))
	b.expect("cmp1", "172.24.4.10/32", "2001:db8::10/128")
	b.expect("cmp2")
	b.do(b.BootVM(b.ctx, VM{Name: "unmapped", Network: "only1", Host: "cmp2", Addresses: addrs("10.9.0.2")}))
	b.do(b.BootVM(b.ctx, VM{Name: "mapped", Network: "only1", Host: "cmp1", Addresses: addrs("10.9.0.3")}))
	b.expect("cmp2")
	b.expect("cmp1", "10.9.0.3/32", "172.24.4.10/32", "2001:db8::10/128")
	b.do(b.PortDown(b.ctx, "vm1"))
	b.expect("cmp1", "10.9.0.3/32")
	b.do(b.PortUp(b.ctx, "vm1"))
	b.do(b.SetPort(b.ctx, "vm1", func(r *PortRows) {
		r.NB["addresses"], r.SB["mac"] = []string{"nonsense"}, []string{"nonsense"}
		r.Expect = nil
	}))
	b.expect("cmp1", "10.9.0.3/32")
	if got := ovsdb.Strings(b.row(b.nb, "Logical_Switch_Port", "name", b.PortID("vm1"))["addresses"]); !slices.Equal(got, []string{"nonsense"}) {
		t.Errorf("addresses are %q", got)
	}
	b.do(b.DeletePort(b.ctx, "mapped"))
	b.do(b.DeleteVM(b.ctx, "vm1"))
	b.expect("cmp1")
	b.expect("nowhere")
}

func TestPatchPortsComeWithTheFirstPortAndGoWithTheLast(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	localnet := b.LocalnetPort("n1")
	second := vm1()
	second.Name = "vm2"
	b.do(b.CreatePort(b.ctx, vm1()))
	equal(t, "unbound", b.patch.take(), nil)
	b.do(b.BindPort(b.ctx, "vm1", "cmp1"))
	equal(t, "first", b.patch.take(), []string{"add br-ex " + localnet})
	b.do(b.BootVM(b.ctx, second))
	b.do(b.DeletePort(b.ctx, "vm1"))
	equal(t, "one is left", b.patch.take(), nil)
	b.do(b.StopVM(b.ctx, "vm2"))
	equal(t, "last", b.patch.take(), []string{"remove br-ex " + localnet})
	b.do(b.DeleteVM(b.ctx, "vm2"))
	equal(t, "nothing left", b.patch.take(), nil)
}

func TestHeldPatchPorts(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	b.do(b.CreateNetwork(b.ctx, ProviderNetwork{Name: "n2", Physnet: "other", Subnets: prefixes("10.9.0.0/24")}))
	b.do(b.HoldPatchPorts("cmp1"))
	b.do(b.BootVM(b.ctx, vm1()))
	b.do(b.BootVM(b.ctx, VM{Name: "vm2", Network: "n2", Host: "cmp1", Addresses: addrs("10.9.0.2")}))
	equal(t, "held", b.patch.take(), nil)
	b.do(b.ReleasePatchPorts(b.ctx, "cmp1", "n2"))
	equal(t, "one released", b.patch.take(), []string{"add br-other " + b.LocalnetPort("n2")})
	if err := b.ReleasePatchPorts(b.ctx, "cmp1", "n2"); err == nil {
		t.Error("released twice")
	}
	b.do(b.DeleteVM(b.ctx, "vm1"))
	equal(t, "went while held", b.patch.take(), nil)
	b.do(b.BootVM(b.ctx, vm1()))
	equal(t, "still held", b.patch.take(), nil)
	b.do(b.ReleasePatchPorts(b.ctx, "cmp1"))
	equal(t, "all released", b.patch.take(), []string{"add br-ex " + b.LocalnetPort("n1")})
	b.do(b.DeleteVM(b.ctx, "vm1"))
	b.do(b.BootVM(b.ctx, vm1()))
	equal(t, "the hold is over", b.patch.take(), []string{"remove br-ex " + b.LocalnetPort("n1"), "add br-ex " + b.LocalnetPort("n1")})
}

func TestErrorsNameVerbAndObject(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	b.do(b.BootVM(b.ctx, vm1()))
	elsewhere := vm1()
	elsewhere.Name, elsewhere.Addresses = "vm9", addrs("192.168.0.1")
	nowhere := vm1()
	nowhere.Name, nowhere.Host = "vm9", "nohost"
	for _, c := range []struct {
		err  error
		want string
	}{
		{b.BootVM(b.ctx, vm1()), "boot VM vm1: it exists"},
		{b.BootVM(b.ctx, nowhere), `boot VM vm9: no host "nohost"`},
		{b.CreatePort(b.ctx, elsewhere), "create port vm9: address 192.168.0.1 is in no subnet of network n1"},
		{b.CreatePort(b.ctx, VM{Name: "x", Network: "nonet"}), `create port x: no network "nonet"`},
		{b.BindPort(b.ctx, "vm1", "nohost"), `bind port vm1: no host "nohost"`},
		{b.PortUp(b.ctx, "novm"), `port up novm: no port "novm"`},
		{b.StopVM(b.ctx, "novm"), `stop VM novm: no port "novm"`},
		{b.StartVM(b.ctx, "vm1"), "start VM vm1: it runs on cmp1"},
		{b.DeleteNetwork(b.ctx, "n1"), "delete network n1: port vm1 is on it"},
		{b.DeleteNetwork(b.ctx, "nonet"), `delete network nonet: no network "nonet"`},
		{b.CreateNetwork(b.ctx, ProviderNetwork{Name: "n1"}), "create network n1: it exists"},
		{b.CreateNetwork(b.ctx, ProviderNetwork{Name: "n5", VLAN: 5000}), "create network n5: OVN_Northbound: insert in table"},
		{b.AddChassis(b.ctx, "cmp1"), "add chassis cmp1: already registered"},
		{b.HoldPatchPorts("nohost"), "hold patch ports nohost: no host"},
		{b.SetPort(b.ctx, "vm1", func(r *PortRows) { r.Expect = []string{"x"} }), "set port vm1: expected address"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
	b.patch.err = errors.New("no vswitch")
	if err := b.StopVM(b.ctx, "vm1"); err == nil || !strings.Contains(err.Error(), "stop VM vm1: remove patch port on cmp1: no vswitch") {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	b := newBench(t)
	b.flatNetwork()
	b.do(b.BootVM(b.ctx, vm1()))
	b.do(b.DeleteVM(b.ctx, "vm1"))
	b.do(b.DeleteNetwork(b.ctx, "n1"))
	for s, tables := range map[ovsdb.Server][]string{b.nb: {"Logical_Switch", "Logical_Switch_Port"}, b.sb: {"Port_Binding", "Datapath_Binding"}} {
		for _, table := range tables {
			results, err := s.Transact(b.ctx, ovsdb.Select(table, nil))
			b.do(err)
			if n := len(results[0].Rows); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
		}
	}
	if b.PortID("vm1") != "" || b.LocalnetPort("n1") != "" || b.LogicalSwitch("n1") != "" {
		t.Error("names of deleted objects are left")
	}
}
