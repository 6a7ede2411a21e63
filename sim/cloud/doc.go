// Package cloud plays the actors above an agent: Neutron, which writes
// OVN_Northbound, ovn-northd, which writes OVN_Southbound, and on each host
// ovn-controller, which binds ports and makes patch ports in Open_vSwitch.
//
// Its methods are what a user of the cloud does. Each makes the rows and, as
// separate transactions, the order of updates that the real actors make. A
// verb returns when its transactions are committed, not when an agent has
// reacted.
//
// What the user wanted is remembered apart from the rows, and Expected is
// derived from that alone: no row is read to tell what a host must announce.
package cloud
