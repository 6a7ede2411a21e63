package exposure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/ovsdb"
)

// decide runs the Northbound driver on one port of network n1, next to its
// localnet port, and renders the decisions.
func decide(t *testing.T, mappings string, ofport any, localnet, port libovsdb.Row) []string {
	t.Helper()
	store := ovsdb.NewStore()
	engine := exposure.NewEngine(exposure.Northbound(exposure.Settings{Hostname: "machine"}), store)
	touched := store.Apply(vswitch(mappings, "provnet-n1", ofport))
	touched = append(touched, store.Apply(rows{}.
		put("Logical_Switch", "n1", libovsdb.Row{"name": "neutron-n1", "ports": ids("localnet", "port")}).
		put("Logical_Switch", "t1", libovsdb.Row{"name": "neutron-t1", "ports": ids()}).
		put("Logical_Switch_Port", "localnet", localnet).
		put("Logical_Switch_Port", "port", port).in(ovsdb.Northbound, true))...)
	engine.Update(touched)
	var got []string
	for _, d := range engine.Port("port") {
		text := string(d.State)
		if d.IP.IsValid() {
			text += " " + d.IP.String()
		}
		if d.Reason.Code != "" {
			text += " " + string(d.Reason.Code)
		}
		got = append(got, text)
	}
	return got
}

func with(row libovsdb.Row, column string, value any) libovsdb.Row {
	row[column] = value
	return row
}

func TestProviderPort(t *testing.T) {
	const m = "fa:16:3e:00:00:01"
	flat := func() libovsdb.Row { return localnetLSP("provnet-n1", "public") }
	cidrs := func(row libovsdb.Row, cidrs string) libovsdb.Row {
		return with(row, "external_ids", mapping("neutron:network_name", "neutron-n1", "neutron:cidrs", cidrs))
	}
	requested := func(row libovsdb.Row, hosts string) libovsdb.Row {
		return with(row, "options", mapping("requested-chassis", hosts))
	}
	for _, c := range []struct {
		name string
		port libovsdb.Row
		want []string
	}{
		{"dual stack", lsp("vm1", m+" 172.24.4.10 2001:db8::10"), []string{"exposed 172.24.4.10", "exposed 2001:db8::10"}},
		{"upper-case IPv6", lsp("vm1", m+" 2001:DB8:0::10"), []string{"exposed 2001:db8::10"}},
		{"unknown without cidrs", lsp("vm1", "unknown"), []string{"refused no-address"}},
		{"unknown with cidrs", cidrs(lsp("vm1", "unknown"), "172.24.4.12/24"), []string{"exposed 172.24.4.12"}},
		{"MAC alone", lsp("vm1", m), []string{"refused no-address"}},
		{"blanks", lsp("vm1", m+" 172.24.4.14 "), []string{"exposed 172.24.4.14"}},
		{"no addresses, cidrs set", cidrs(lsp("vm1"), "172.24.4.15/24"), []string{"refused no-address"}},
		{"dynamic", lsp("vm1", "dynamic"), []string{"refused no-address"}},
		{"unparsable", lsp("vm1", m+" 172.24.4.300"), []string{"refused bad-address"}},
		{"one unparsable of two", lsp("vm1", m+" 172.24.4.300 172.24.4.17"), []string{"refused bad-address", "exposed 172.24.4.17"}},
		{"unknown and an address", lsp("vm1", "unknown", m+" 172.24.4.18"), []string{"exposed 172.24.4.18"}},
		{"two MACs", lsp("vm1", "00:11:22:33:44:55 172.24.4.90", m+" 172.24.4.19"), []string{"exposed 172.24.4.90", "exposed 172.24.4.19"}},
		{"bad MAC", lsp("vm1", "fa:16 172.24.4.19"), []string{"refused bad-address"}},
		{"loopback", lsp("vm1", m+" 127.0.0.1"), []string{"refused bad-address"}},
		{"link-local", lsp("vm1", m+" fe80::1 2001:db8::1"), []string{"refused bad-address", "exposed 2001:db8::1"}},
		{"bad cidrs", cidrs(lsp("vm1", m+" 172.24.4.20"), "172.24.4.20/240"), []string{"refused bad-address", "exposed 172.24.4.20"}},
		{"no external_ids", with(lsp("vm1", m+" 172.24.4.20"), "external_ids", mapping()), []string{"refused no-network-name"}},
		{"up unset", with(lsp("vm1", m+" 172.24.4.21"), "up", set()), []string{"pending 172.24.4.21 port-down"}},
		{"down", with(lsp("vm1", m+" 172.24.4.21"), "up", set(false)), []string{"pending 172.24.4.21 port-down"}},
		{"tenant network", with(lsp("vm1", m+" 10.0.0.3"), "external_ids", mapping("neutron:network_name", "neutron-t1")), nil},
		{"unknown switch", with(lsp("vm1", m+" 10.0.0.3"), "external_ids", mapping("neutron:network_name", "neutron-x")), nil},
		{"elsewhere", requested(lsp("vm1", m+" 172.24.4.22"), "cmp2"), nil},
		{"by system-id", requested(lsp("vm1", m+" 172.24.4.22"), "id-cmp1"), []string{"exposed 172.24.4.22"}},
		{"requested-chassis wins over host_id", requested(lsp("vm1", m+" 172.24.4.22"), "cmp2"), nil},
		{"migration source", requested(lsp("vm1", m+" 172.24.4.22"), "cmp1,cmp2"), []string{"exposed 172.24.4.22"}},
		{"migration source, down", with(requested(lsp("vm1", m+" 172.24.4.22"), "cmp1,cmp2"), "up", set(false)), []string{"exposed 172.24.4.22"}},
		{"migration destination", requested(lsp("vm1", m+" 172.24.4.22"), "cmp2,cmp1"), []string{"pending 172.24.4.22 migrating"}},
		{"host_id alone", with(lsp("vm1", m+" 172.24.4.23"), "options", mapping()), []string{"exposed 172.24.4.23"}},
		{"virtual by host_id", with(requested(lsp("vm1", m+" 172.24.4.30"), "cmp2"), "type", "virtual"), []string{"exposed 172.24.4.30"}},
		{"router port", with(lsp("vm1", "router"), "type", "router"), nil},
		{"external port", with(lsp("vm1", m+" 172.24.4.31"), "type", "external"), nil},
	} {
		if got := decide(t, "public:br-ex", set(1), flat(), c.port); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProviderPortNeedsItsNetworkHere(t *testing.T) {
	port := func() libovsdb.Row { return lsp("vm1", "fa:16:3e:00:00:01 172.24.4.10") }
	for _, c := range []struct {
		name     string
		mappings string
		ofport   any
		localnet libovsdb.Row
		want     string
	}{
		{"not mapped", "other:br-two", set(1), localnetLSP("provnet-n1", "public"), "refused 172.24.4.10 not-mapped"},
		{"malformed mapping", "public,other:br-two", set(1), localnetLSP("provnet-n1", "public"), "refused 172.24.4.10 not-mapped"},
		{"no interface", "public:br-ex", nil, localnetLSP("provnet-n1", "public"), "pending 172.24.4.10 no-patch-port"},
		{"no ofport", "public:br-ex", set(), localnetLSP("provnet-n1", "public"), "pending 172.24.4.10 no-patch-port"},
		{"ofport -1", "public:br-ex", set(-1), localnetLSP("provnet-n1", "public"), "pending 172.24.4.10 no-patch-port"},
		{"VLAN", "public:br-ex", set(1), localnetLSP("provnet-n1", "public", 1001), "exposed 172.24.4.10"},
		{"tag out of range", "public:br-ex", set(1), localnetLSP("provnet-n1", "public", 4095), "refused 172.24.4.10 bad-tag"},
	} {
		if got := decide(t, c.mappings, c.ofport, c.localnet, port()); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRevisionOfOnePortCostsOneComputation(t *testing.T) {
	store := ovsdb.NewStore()
	engine := exposure.NewEngine(exposure.Northbound(exposure.Settings{}), store)
	all := rows{}.put("Logical_Switch_Port", "localnet", localnetLSP("provnet-n1", "public"))
	members := []string{"localnet"}
	for i := range 1000 {
		uuid := fmt.Sprint("port", i)
		members = append(members, uuid)
		all.put("Logical_Switch_Port", uuid, lsp(uuid, fmt.Sprintf("fa:16:3e:00:00:01 10.1.%d.%d", i/250, i%250+1)))
	}
	all.put("Logical_Switch", "n1", libovsdb.Row{"name": "neutron-n1", "ports": ids(members...)})
	touched := append(store.Apply(vswitch("public:br-ex", "provnet-n1", set(1))), store.Apply(all.in(ovsdb.Northbound, true))...)
	if ports, _ := engine.Update(touched); len(ports) != 1000 {
		t.Fatalf("%d ports decided", len(ports))
	}

	before := engine.Runs()
	changed := with(lsp("port7", "fa:16:3e:00:00:01 10.1.0.8"), "up", set(false))
	ports, base := engine.Update(store.Apply(rows{}.put("Logical_Switch_Port", "port7", changed).in(ovsdb.Northbound, false)))
	if cost := engine.Runs() - before; cost != 1 || base || !slices.Equal(ports, []string{"port7"}) {
		t.Errorf("a port going down cost %d computations, base %v, ports %v", cost, base, ports)
	}

	before = engine.Runs()
	joined := rows{}.
		put("Logical_Switch", "n1", libovsdb.Row{"name": "neutron-n1", "ports": ids(append(members, "new")...)}).
		put("Logical_Switch_Port", "new", lsp("new", "fa:16:3e:00:00:02 10.1.9.9"))
	ports, _ = engine.Update(store.Apply(joined.in(ovsdb.Northbound, false)))
	if cost := engine.Runs() - before; cost != 2 || !slices.Equal(ports, []string{"new"}) {
		t.Errorf("a port joining its switch cost %d computations, ports %v", cost, ports)
	}
}

func TestMappingsKeepTheirPositions(t *testing.T) {
	store := ovsdb.NewStore()
	engine := exposure.NewEngine(exposure.Northbound(exposure.Settings{}), store)
	engine.Update(append(store.Apply(vswitch(" public , x:y:z,two:br-two", "provnet-n1", set(1))), store.Apply(rows{}.in(ovsdb.Northbound, true))...))
	base := engine.Base()
	if len(base.Mappings) != 1 || base.Mappings[0].Position != 3 || base.Mappings[0].Bridge != "br-two" {
		t.Errorf("mappings %+v", base.Mappings)
	}
	if strings.Join(base.Malformed, "|") != "public|x:y:z" {
		t.Errorf("malformed entries %q", base.Malformed)
	}
}
