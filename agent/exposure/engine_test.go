package exposure_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"pgregory.net/rapid"

	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
)

// A history of changes, in any order and of any rows, must leave an engine that
// followed it with what one finds that sees only the end.
func TestIncrementalEqualsFromScratch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		driver := exposure.Northbound(exposure.Settings{Hostname: "cmp1"})
		store := ovsdb.NewStore()
		engine := exposure.NewEngine(driver, store)
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			engine.Update(store.Apply(randomChange(t)))
			fresh := exposure.NewEngine(driver, store)
			fresh.Update(store.Rows(driver.PortTable))
			if diff := cmp.Diff(results(fresh), results(engine)); diff != "" {
				t.Fatalf("from scratch (-) and incrementally (+):\n%s", diff)
			}
		}
	})
}

func results(e *exposure.Engine) map[string]string {
	all := map[string]string{"base": fmt.Sprintf("%+v", e.Base())}
	for _, port := range e.Ports() {
		all[port] = fmt.Sprintf("%+v", e.Port(port))
	}
	return all
}

// randomChange is a change of a few rows of a small cloud.
func randomChange(t *rapid.T) client.Change {
	pick := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
	port := pick("port", "p1", "p2", "p3")
	network := pick("network", "n1", "n2")
	r := rows{}
	switch pick("kind", "port", "port", "port gone", "switch", "switch gone", "localnet", "localnet gone", "mappings", "patch", "patch gone", "refill") {
	case "port":
		row := lsp(port, "fa:16:3e:00:00:01 "+pick("address", "172.24.4.10", "172.24.4.11 2001:db8::11", "nonsense"))
		row["up"] = set(rapid.Bool().Draw(t, "up"))
		row["options"] = mapping("requested-chassis", pick("host", "cmp1", "cmp2", "cmp1,cmp2", "cmp2,cmp1"))
		row["external_ids"] = mapping("neutron:network_name", "neutron-"+network)
		return r.put("Logical_Switch_Port", port, row).in(ovsdb.Northbound, false)
	case "port gone":
		return r.put("Logical_Switch_Port", port, nil).in(ovsdb.Northbound, false)
	case "switch":
		members := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"l1", "l2", "p1", "p2"}), rapid.ID[string]).Draw(t, "members")
		return r.put("Logical_Switch", network, libovsdb.Row{"name": "neutron-" + network, "ports": ids(members...)}).in(ovsdb.Northbound, false)
	case "switch gone":
		return r.put("Logical_Switch", network, nil).in(ovsdb.Northbound, false)
	case "localnet":
		tags := []any{}
		if rapid.Bool().Draw(t, "tagged") {
			tags = append(tags, rapid.IntRange(1, 4095).Draw(t, "tag"))
		}
		name := pick("localnet", "l1", "l2")
		return r.put("Logical_Switch_Port", name, localnetLSP("provnet-"+name, pick("physnet", "public", "other"), tags...)).in(ovsdb.Northbound, false)
	case "localnet gone":
		return r.put("Logical_Switch_Port", pick("localnet", "l1", "l2"), nil).in(ovsdb.Northbound, false)
	case "mappings":
		return r.put("Open_vSwitch", "root", libovsdb.Row{"external_ids": mapping("hostname", pick("hostname", "cmp1", "cmp2"),
			"ovn-bridge-mappings", pick("mappings", "", "public:br-ex", "other:br-two,public:br-ex", "public:br-ex:x"))}).in(ovsdb.OpenVSwitch, false)
	case "patch":
		name := "patch-provnet-" + pick("localnet", "l1", "l2") + "-to-br-int"
		ports := set()
		if n := rapid.IntRange(-1, 3).Draw(t, "ofport"); n != 0 {
			ports = set(n)
		}
		return r.put("Bridge", "br", libovsdb.Row{"name": "br-ex", "ports": ids(name)}).
			put("Port", name, libovsdb.Row{"name": name}).
			put("Interface", name, libovsdb.Row{"name": name, "ofport": ports}).in(ovsdb.OpenVSwitch, false)
	case "patch gone":
		return r.put("Interface", "patch-provnet-"+pick("localnet", "l1", "l2")+"-to-br-int", nil).in(ovsdb.OpenVSwitch, false)
	default:
		return r.put("Logical_Switch_Port", port, lsp(port, "fa:16:3e:00:00:01 172.24.4.10")).
			put("Logical_Switch", "n1", libovsdb.Row{"name": "neutron-n1", "ports": ids(slices.Sorted(maps.Keys(map[string]bool{port: true, "l1": true}))...)}).
			put("Logical_Switch_Port", "l1", localnetLSP("provnet-l1", "public")).in(ovsdb.Northbound, true)
	}
}
