package ovsdb

import (
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/client"
)

// allTables is every table of the package.
var allTables = []table{
	LogicalSwitchPorts, LogicalSwitches,
	PortBindings, ChassisRows, ChassisPrivates,
	OpenVSwitchRows, Bridges, Ports, Interfaces,
}

// Monitor is what the agent monitors of a database: tables, columns and
// conditions. From the Southbound database only the node's own rows of Chassis
// and Chassis_Private are taken, whose name is systemID (seed, scenario 1).
func Monitor(database, systemID string) []client.Table {
	var tables []client.Table
	for _, t := range allTables {
		if t.databaseName() != database {
			continue
		}
		request := t.request()
		if t == table(ChassisRows) || t == table(ChassisPrivates) {
			request.Where = []libovsdb.Condition{libovsdb.NewCondition("name", libovsdb.ConditionEqual, systemID)}
		}
		tables = append(tables, request)
	}
	return tables
}
