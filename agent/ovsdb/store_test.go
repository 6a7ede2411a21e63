package ovsdb_test

import (
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
)

func bridges(complete bool, rows map[string]libovsdb.Row) client.Change {
	return client.Change{Database: ovsdb.OpenVSwitch, Complete: complete, Tables: map[string]map[string]libovsdb.Row{"Bridge": rows}}
}

func named(name string) libovsdb.Row { return libovsdb.Row{"name": name} }

func touchedRows(deps []ovsdb.Dep) []string {
	var rows []string
	for _, d := range deps {
		if d.Index == "" {
			rows = append(rows, d.Value)
		}
	}
	slices.Sort(rows)
	return rows
}

func TestCompleteDownloadTouchesOnlyWhatDiffers(t *testing.T) {
	s := ovsdb.NewStore()
	if s.Complete(ovsdb.OpenVSwitch) {
		t.Error("complete before any download")
	}
	s.Apply(bridges(true, map[string]libovsdb.Row{"a": named("br-a"), "b": named("br-b"), "c": named("br-c")}))
	touched := s.Apply(bridges(true, map[string]libovsdb.Row{"a": named("br-a"), "b": named("br-x"), "d": named("br-d")}))
	if got := touchedRows(touched); !slices.Equal(got, []string{"b", "c", "d"}) {
		t.Errorf("touched %q", got)
	}
	if _, found := ovsdb.First(s.View(), ovsdb.Bridges, ovsdb.BridgeByName, "br-c"); found {
		t.Error("a row that the download lacks is still there")
	}
}

func TestReaderOfAMissIsTouchedByTheArrival(t *testing.T) {
	s := ovsdb.NewStore()
	v := s.View()
	if found := ovsdb.Find(v, ovsdb.Bridges, ovsdb.BridgeByName, "br-ex"); len(found) != 0 {
		t.Fatalf("found %v", found)
	}
	touched := s.Apply(bridges(false, map[string]libovsdb.Row{"a": named("br-ex")}))
	if !slices.ContainsFunc(touched, func(d ovsdb.Dep) bool { _, read := v.Reads()[d]; return read }) {
		t.Errorf("what was read %v is not among what was touched %v", v.Reads(), touched)
	}
	if again := s.Apply(bridges(false, map[string]libovsdb.Row{"a": named("br-ex")})); len(again) != 0 {
		t.Errorf("the same row again touched %v", again)
	}
}

func TestOnlyTheNodesOwnChassisIsMonitored(t *testing.T) {
	conditions := map[string]int{}
	for _, table := range ovsdb.Monitor(ovsdb.Southbound, "id-1") {
		conditions[table.Name] = len(table.Where)
	}
	if conditions["Chassis"] != 1 || conditions["Chassis_Private"] != 1 || conditions["Port_Binding"] != 0 {
		t.Errorf("conditions by table: %v", conditions)
	}
}
