package exposure_test

import (
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/ovsdb"
)

func binding(kind, datapath string, chassis, up libovsdb.OvsSet, mac ...string) libovsdb.Row {
	return libovsdb.Row{
		"logical_port": "vm1", "type": kind, "datapath": libovsdb.UUID{GoUUID: datapath}, "mac": texts(mac...),
		"chassis": chassis, "up": up, "tag": set(), "options": mapping(),
		"external_ids": mapping("neutron:cidrs", "172.24.4.30/24 2001:db8::30/64"),
	}
}

func TestPortBinding(t *testing.T) {
	const m = "fa:16:3e:00:00:01"
	mine, other := ids("ch1"), ids("ch2")
	for _, c := range []struct {
		name string
		port libovsdb.Row
		want []string
	}{
		{"bound here and up", binding("", "provider", mine, set(true), m+" 172.24.4.10 2001:db8::10"), []string{"exposed 172.24.4.10", "exposed 2001:db8::10"}},
		{"bound here, down", binding("", "provider", mine, set(false), m+" 172.24.4.10"), []string{"pending 172.24.4.10"}},
		{"up unset", binding("", "provider", mine, set(), m+" 172.24.4.10"), []string{"pending 172.24.4.10"}},
		{"bound elsewhere", binding("", "provider", other, set(true), m+" 172.24.4.10"), nil},
		{"unbound", binding("", "provider", ids(), set(true), m+" 172.24.4.10"), nil},
		{"chassis unknown", binding("", "provider", ids("gone"), set(true), m+" 172.24.4.10"), nil},
		{"tenant datapath", binding("", "tenant", mine, set(true), m+" 10.0.0.10"), nil},
		{"unknown", binding("", "provider", mine, set(true), "unknown"), []string{"refused"}},
		{"all entries", binding("", "provider", mine, set(true), "00:11:22:33:44:55 172.24.4.14", m+" 172.24.4.13"), []string{"exposed 172.24.4.14", "exposed 172.24.4.13"}},
		{"virtual", binding("virtual", "provider", mine, set(true), m+" 172.24.4.30"), []string{"exposed 172.24.4.30"}},
		{"localport", binding("localport", "provider", mine, set(true), m+" 172.24.4.2"), nil},
	} {
		store := ovsdb.NewStore()
		engine := exposure.NewEngine(exposure.Southbound(exposure.Settings{}), store)
		touched := store.Apply(vswitch("public:br-ex", "provnet-n1", set(1)))
		localnet := binding("localnet", "provider", ids(), set(), "unknown")
		localnet["logical_port"], localnet["options"] = "provnet-n1", mapping("network_name", "public")
		touched = append(touched, store.Apply(rows{}.
			put("Chassis", "ch1", libovsdb.Row{"name": "id-cmp1"}).
			put("Chassis", "ch2", libovsdb.Row{"name": "id-cmp2"}).
			put("Port_Binding", "localnet", localnet).
			put("Port_Binding", "port", c.port).in(ovsdb.Southbound, true))...)
		engine.Update(touched)
		var got []string
		for _, d := range engine.Port("port") {
			text := string(d.State)
			if d.IP.IsValid() {
				text += " " + d.IP.String()
			}
			got = append(got, text)
			if d.MAC != "" {
				t.Errorf("%s: a neighbour entry is asked for, which this driver does not make", c.name)
			}
			if c.name != "virtual" && len(d.ProxyNetworks) > 0 {
				t.Errorf("%s: NDP proxies %v", c.name, d.ProxyNetworks)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
