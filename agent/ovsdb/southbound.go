package ovsdb

import (
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

// PortBinding is a row of Port_Binding (ovn-sb(5)).
type PortBinding struct {
	UUID        string
	LogicalPort string
	Type        string
	Datapath    string // UUID of its Datapath_Binding
	MAC         []string
	Chassis     string // UUID of a Chassis row, "" when unbound
	Up          bool   // an unset column is "not up"
	Tag         int    // 0 when unset
	Options     map[string]string
	ExternalIDs map[string]string
}

// Chassis is a row of Chassis (ovn-sb(5)).
type Chassis struct{ UUID, Name string }

// ChassisPrivate is a row of Chassis_Private (ovn-sb(5)).
type ChassisPrivate struct{ UUID, Name string }

// Indexes of Port_Binding.
var (
	// LocalnetByDatapath finds localnet bindings by their datapath.
	LocalnetByDatapath = Index[PortBinding]{"localnet datapath", func(b *PortBinding) []string {
		if b.Type != "localnet" {
			return nil
		}
		return []string{b.Datapath}
	}}
	// LocalnetBindingByNetworkName finds localnet bindings by options:network_name.
	LocalnetBindingByNetworkName = Index[PortBinding]{"localnet network_name", func(b *PortBinding) []string {
		if b.Type != "localnet" {
			return nil
		}
		return []string{b.Options["network_name"]}
	}}
)

// Tables of the Southbound database.
var (
	PortBindings = &Table[PortBinding]{
		database: Southbound, name: "Port_Binding",
		columns: []string{"logical_port", "type", "datapath", "mac", "chassis", "up", "tag", "options", "external_ids"},
		decode: func(uuid string, r libovsdb.Row) *PortBinding {
			up, _ := row.OptBool(r, "up")
			tag, _ := row.OptInt(r, "tag")
			return &PortBinding{
				UUID: uuid, LogicalPort: row.String(r, "logical_port"), Type: row.String(r, "type"),
				Datapath: row.UUID(r, "datapath"), MAC: row.Strings(r, "mac"), Chassis: row.UUID(r, "chassis"),
				Up: up, Tag: tag, Options: row.Map(r, "options"), ExternalIDs: row.Map(r, "external_ids"),
			}
		},
		indexes: []Index[PortBinding]{LocalnetByDatapath, LocalnetBindingByNetworkName},
	}
	ChassisRows = &Table[Chassis]{
		database: Southbound, name: "Chassis", columns: []string{"name"},
		decode: func(uuid string, r libovsdb.Row) *Chassis {
			return &Chassis{UUID: uuid, Name: row.String(r, "name")}
		},
	}
	ChassisPrivates = &Table[ChassisPrivate]{
		database: Southbound, name: "Chassis_Private", columns: []string{"name"}, optional: true,
		decode: func(uuid string, r libovsdb.Row) *ChassisPrivate {
			return &ChassisPrivate{UUID: uuid, Name: row.String(r, "name")}
		},
	}
)
