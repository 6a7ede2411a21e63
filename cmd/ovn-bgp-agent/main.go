// Command ovn-bgp-agent announces over BGP, through FRR, what OVN places on this
// node. See --help.
package main

import (
	"os"

	"ovn-bgp-agent/agent/command"
)

// version is set at build time (-ldflags "-X main.version=…").
var version = "development"

func main() {
	os.Exit(command.Program{Version: version}.Main(os.Args[1:], os.Stdout, os.Stderr))
}
