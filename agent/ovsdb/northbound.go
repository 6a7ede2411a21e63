package ovsdb

import (
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

// LogicalSwitchPort is a row of Logical_Switch_Port (ovn-nb(5)).
type LogicalSwitchPort struct {
	UUID        string
	Name        string
	Type        string
	Addresses   []string
	Up          bool // an unset column is "not up"
	Tag         int  // 0 when unset
	Options     map[string]string
	ExternalIDs map[string]string
}

// LogicalSwitch is a row of Logical_Switch (ovn-nb(5)).
type LogicalSwitch struct {
	UUID  string
	Name  string
	Ports map[string]struct{} // UUIDs of its Logical_Switch_Port rows
}

// Indexes of Logical_Switch_Port.
var (
	// LocalnetByNetworkName finds localnet ports by options:network_name.
	LocalnetByNetworkName = Index[LogicalSwitchPort]{"localnet network_name", func(p *LogicalSwitchPort) []string {
		if p.Type != "localnet" {
			return nil
		}
		return []string{p.Options["network_name"]}
	}}
	// AnyLocalnet finds every localnet port under the empty value.
	AnyLocalnet = Index[LogicalSwitchPort]{"localnet", func(p *LogicalSwitchPort) []string {
		if p.Type != "localnet" {
			return nil
		}
		return []string{""}
	}}
)

// LogicalSwitchByName finds switches by name.
var LogicalSwitchByName = Index[LogicalSwitch]{"name", func(s *LogicalSwitch) []string { return []string{s.Name} }}

// Tables of the Northbound database.
var (
	LogicalSwitchPorts = &Table[LogicalSwitchPort]{
		database: Northbound, name: "Logical_Switch_Port",
		columns: []string{"name", "type", "addresses", "up", "tag", "options", "external_ids"},
		decode: func(uuid string, r libovsdb.Row) *LogicalSwitchPort {
			up, _ := row.OptBool(r, "up")
			tag, _ := row.OptInt(r, "tag")
			return &LogicalSwitchPort{
				UUID: uuid, Name: row.String(r, "name"), Type: row.String(r, "type"),
				Addresses: row.Strings(r, "addresses"), Up: up, Tag: tag,
				Options: row.Map(r, "options"), ExternalIDs: row.Map(r, "external_ids"),
			}
		},
		indexes: []Index[LogicalSwitchPort]{LocalnetByNetworkName, AnyLocalnet},
	}
	LogicalSwitches = &Table[LogicalSwitch]{
		database: Northbound, name: "Logical_Switch",
		columns: []string{"name", "ports"},
		decode: func(uuid string, r libovsdb.Row) *LogicalSwitch {
			return &LogicalSwitch{UUID: uuid, Name: row.String(r, "name"), Ports: set(row.UUIDs(r, "ports"))}
		},
		indexes: []Index[LogicalSwitch]{LogicalSwitchByName},
	}
)

func set(values []string) map[string]struct{} {
	s := make(map[string]struct{}, len(values))
	for _, v := range values {
		s[v] = struct{}{}
	}
	return s
}
