package exposure

import (
	"ovn-bgp-agent/agent/ovsdb"
)

// Driver is the set of pure functions by which the agent reads one OVN database.
// Each reads only through the view that it is given.
type Driver struct {
	// Database is the OVN database that the driver reads.
	Database string
	// PortTable is the table whose rows are the ports.
	PortTable string
	// Network says what a switch, by the name that ports have for it, is here.
	Network func(v *ovsdb.View, name string) Network
	// Base reads what the base wiring needs.
	Base func(v *ovsdb.View) Base
	// Port decides about the port whose row has that UUID; network looks up a
	// network of its.
	Port func(v *ovsdb.View, uuid string, network func(name string) Network) []Decision
}

// Settings are the options and facts besides rows on which decisions depend.
type Settings struct {
	// Hostname is this machine's name, for an Open_vSwitch database that has no
	// external_ids:hostname.
	Hostname string
}
