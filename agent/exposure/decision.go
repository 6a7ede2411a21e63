// Package exposure decides, from rows alone, what this node must announce, and
// why or why not.
//
// Each driver is a pure function from the rows seen through a view to decisions;
// [Engine] keeps their results up to date, re-deriving exactly what read a
// changed row.
package exposure

import (
	"fmt"
	"net/netip"

	"ovn-bgp-agent/agent/node"
)

// State of a decision.
type State string

const (
	// Exposed: the prefix is to be wired and announced.
	Exposed State = "exposed"
	// Pending: it will be exposed as soon as something that is watched arrives.
	Pending State = "pending"
	// Refused: it will not be exposed as the rows are.
	Refused State = "refused"
)

// Code classifies a reason.
type Code string

// The reasons why something is not exposed.
const (
	PortDown      Code = "port-down"       // the port is not up
	Migrating     Code = "migrating"       // another host has it until the migration ends
	NoPatchPort   Code = "no-patch-port"   // Open vSwitch has no usable patch port for the network
	NoBridge      Code = "no-bridge"       // the mapped bridge has no device or no routing table
	NotMapped     Code = "not-mapped"      // ovn-bridge-mappings lacks the physical network
	NoAddress     Code = "no-address"      // the row carries no IP address
	BadAddress    Code = "bad-address"     // an address that cannot be parsed or must not be announced
	NoNetworkName Code = "no-network-name" // external_ids lacks neutron:network_name
	BadTag        Code = "bad-tag"         // the localnet port's tag is no VLAN id
)

// Reason says why something is not exposed.
type Reason struct {
	Code Code
	Text string
}

func reason(code Code, format string, args ...any) Reason {
	return Reason{code, fmt.Sprintf(format, args...)}
}

// Decision is what a driver decided about one address, or about a port that has
// none.
type Decision struct {
	Owner   node.Owner // names the decision: the row and the address
	Kind    string     // what is exposed, such as "provider VM"
	Port    string     // name of the port's row
	Network string     // the logical switch
	IP      netip.Addr // zero when the decision is about no address
	State   State
	Reason  Reason // of a Pending or Refused decision

	// How the address is reached, as far as it is known.
	Bridge        string
	VLAN          uint16       // 0 for untagged
	OFPort        int          // of the network's patch port on Bridge
	MAC           string       // for a permanent neighbour entry; "" for none
	ProxyNetworks []netip.Addr // network addresses that need an NDP proxy
}

// Prefix is the announced prefix; the zero Prefix when there is no address.
func (d Decision) Prefix() netip.Prefix {
	if !d.IP.IsValid() {
		return netip.Prefix{}
	}
	return node.HostPrefix(d.IP)
}
