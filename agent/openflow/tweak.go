package openflow

import (
	"fmt"

	"ovn-bgp-agent/agent/node"
)

// tweakPriority beats the bridge's own "priority=0 actions=NORMAL".
const tweakPriority = 900

// openVSwitchLocal is the number that the column Interface.ofport has for the
// bridge's own port (OFPP_LOCAL of OpenFlow 1.0).
const openVSwitchLocal = 0xfffe

// Tweak is the MAC-tweak flow of a patch port and its actions: what OVN sends out
// of it is handed to the node's own stack, by the MAC of the bridge's device
// (side-effects.md §3.2, O1). The ofport is that of the column Interface.ofport.
func Tweak(bridge string, ofport int, v6 bool, mac string) (node.Flow, string) {
	protocol := "ip"
	if v6 {
		protocol = "ipv6"
	}
	port := fmt.Sprint(ofport)
	if ofport == openVSwitchLocal {
		port = portText(portLocal)
	}
	return node.Flow{Bridge: bridge, Priority: tweakPriority, Match: protocol + ",in_port=" + port}, modDLDst + mac + ",NORMAL"
}
