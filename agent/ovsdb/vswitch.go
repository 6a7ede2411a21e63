package ovsdb

import (
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

// OpenVSwitchRow is the row of Open_vSwitch (ovs-vswitchd.conf.db(5)).
type OpenVSwitchRow struct {
	UUID        string
	ExternalIDs map[string]string
}

// Bridge is a row of Bridge.
type Bridge struct {
	UUID, Name string
	Ports      []string // UUIDs of its Port rows
}

// Port is a row of Port.
type Port struct{ UUID, Name string }

// Interface is a row of Interface.
type Interface struct {
	UUID, Name string
	OFPort     int // 0 when unset; -1 when the switch could not make the port
}

// Root is the index under whose empty value every row is found.
var Root = Index[OpenVSwitchRow]{"root", func(*OpenVSwitchRow) []string { return []string{""} }}

// BridgeByName finds bridges by name.
var BridgeByName = Index[Bridge]{"name", func(b *Bridge) []string { return []string{b.Name} }}

// AnyBridge is the index under whose empty value every bridge is found.
var AnyBridge = Index[Bridge]{"all", func(*Bridge) []string { return []string{""} }}

// InterfaceByName finds interfaces by name.
var InterfaceByName = Index[Interface]{"name", func(i *Interface) []string { return []string{i.Name} }}

// Tables of the Open_vSwitch database.
var (
	OpenVSwitchRows = &Table[OpenVSwitchRow]{
		database: OpenVSwitch, name: "Open_vSwitch", columns: []string{"external_ids"},
		decode: func(uuid string, r libovsdb.Row) *OpenVSwitchRow {
			return &OpenVSwitchRow{UUID: uuid, ExternalIDs: row.Map(r, "external_ids")}
		},
		indexes: []Index[OpenVSwitchRow]{Root},
	}
	Bridges = &Table[Bridge]{
		database: OpenVSwitch, name: "Bridge", columns: []string{"name", "ports"},
		decode: func(uuid string, r libovsdb.Row) *Bridge {
			return &Bridge{UUID: uuid, Name: row.String(r, "name"), Ports: row.UUIDs(r, "ports")}
		},
		indexes: []Index[Bridge]{BridgeByName, AnyBridge},
	}
	Ports = &Table[Port]{
		database: OpenVSwitch, name: "Port", columns: []string{"name"},
		decode: func(uuid string, r libovsdb.Row) *Port {
			return &Port{UUID: uuid, Name: row.String(r, "name")}
		},
	}
	Interfaces = &Table[Interface]{
		database: OpenVSwitch, name: "Interface", columns: []string{"name", "ofport"},
		decode: func(uuid string, r libovsdb.Row) *Interface {
			ofport, _ := row.OptInt(r, "ofport")
			return &Interface{UUID: uuid, Name: row.String(r, "name"), OFPort: ofport}
		},
		indexes: []Index[Interface]{InterfaceByName},
	}
)
