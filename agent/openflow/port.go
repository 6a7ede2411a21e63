package openflow

import (
	"fmt"
	"strconv"
)

// Reserved ports (OpenFlow 1.3 §7.2.1, ofp_port_no).
const (
	portMax   uint32 = 0xffffff00
	portLocal uint32 = 0xfffffffe
	portAny   uint32 = 0xffffffff
)

// reservedPorts have names in ovs-ofctl(8).
var reservedPorts = map[uint32]string{
	0xfffffff8: "IN_PORT",
	0xfffffff9: "TABLE",
	0xfffffffa: "NORMAL",
	0xfffffffb: "FLOOD",
	0xfffffffc: "ALL",
	0xfffffffd: "CONTROLLER",
	portLocal:  "LOCAL",
}

func portText(port uint32) string {
	if name, reserved := reservedPorts[port]; reserved {
		return name
	}
	return strconv.FormatUint(uint64(port), 10)
}

func parsePort(text string) (uint32, error) {
	for port, name := range reservedPorts {
		if name == text {
			return port, nil
		}
	}
	port, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("port %q: %w", text, err)
	}
	if port == 0 || uint32(port) >= portMax {
		return 0, fmt.Errorf("port %s: not a port number", text)
	}
	return uint32(port), nil
}
