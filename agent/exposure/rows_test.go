package exposure_test

import (
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/ovsdb/client"
)

// rows is one change, built up table by table.
type rows map[string]map[string]libovsdb.Row

func (r rows) put(table, uuid string, row libovsdb.Row) rows {
	if r[table] == nil {
		r[table] = map[string]libovsdb.Row{}
	}
	r[table][uuid] = row
	return r
}

func (r rows) in(database string, complete bool) client.Change {
	return client.Change{Database: database, Complete: complete, Tables: r}
}

func set(values ...any) libovsdb.OvsSet { return libovsdb.OvsSet{GoSet: values} }

func texts(values ...string) libovsdb.OvsSet {
	s := libovsdb.OvsSet{}
	for _, v := range values {
		s.GoSet = append(s.GoSet, v)
	}
	return s
}

func ids(values ...string) libovsdb.OvsSet {
	s := libovsdb.OvsSet{}
	for _, v := range values {
		s.GoSet = append(s.GoSet, libovsdb.UUID{GoUUID: v})
	}
	return s
}

func mapping(pairs ...string) libovsdb.OvsMap {
	m := libovsdb.OvsMap{GoMap: map[any]any{}}
	for i := 0; i < len(pairs); i += 2 {
		m.GoMap[pairs[i]] = pairs[i+1]
	}
	return m
}

// vswitch is a node with br-ex mapped as public and the patch port of a localnet.
func vswitch(mappings, localnet string, ofport any) client.Change {
	r := rows{}.
		put("Open_vSwitch", "root", libovsdb.Row{"external_ids": mapping(
			"hostname", "cmp1", "system-id", "id-cmp1", "ovn-bridge-mappings", mappings)}).
		put("Bridge", "br", libovsdb.Row{"name": "br-ex", "ports": ids("port")}).
		put("Port", "port", libovsdb.Row{"name": "patch-" + localnet + "-to-br-int"})
	if ofport != nil {
		r.put("Interface", "if", libovsdb.Row{"name": "patch-" + localnet + "-to-br-int", "ofport": ofport})
	}
	return r.in(ovsdb.OpenVSwitch, true)
}

// lsp is a VM port of network n1 that is up on cmp1.
func lsp(name string, addresses ...string) libovsdb.Row {
	return libovsdb.Row{
		"name": name, "type": "", "addresses": texts(addresses...), "up": set(true), "tag": set(),
		"options":      mapping("requested-chassis", "cmp1"),
		"external_ids": mapping("neutron:network_name", "neutron-n1", "neutron:host_id", "cmp1"),
	}
}

func localnetLSP(name, physnet string, tag ...any) libovsdb.Row {
	return libovsdb.Row{
		"name": name, "type": "localnet", "addresses": texts("unknown"), "up": set(), "tag": set(tag...),
		"options": mapping("network_name", physnet), "external_ids": mapping(),
	}
}
