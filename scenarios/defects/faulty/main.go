// Command faulty is the agent with one defect of the reference put back in, to
// show that the scenario named after the defect can fail.
package main

import (
	"fmt"
	"os"

	"ovn-bgp-agent/agent"
	"ovn-bgp-agent/agent/command"
	"ovn-bgp-agent/agent/exposure"
	"ovn-bgp-agent/agent/node"
	"ovn-bgp-agent/agent/ovsdb"
	"ovn-bgp-agent/agent/wiring"
)

// fault is the defect, set at build time (-ldflags "-X main.fault=D1").
var fault string

func main() {
	faults := map[string]func(*agent.Parts){"D1": givesUpOnPatchPort, "D16": losesTableMap}
	alter, known := faults[fault]
	if !known {
		fmt.Fprintf(os.Stderr, "faulty: built with the unknown fault %q\n", fault)
		os.Exit(2)
	}
	program := command.Program{Version: "with fault " + fault, Alter: alter}
	os.Exit(program.Main(os.Args[1:], os.Stdout, os.Stderr))
}

// givesUpOnPatchPort (D1): a port whose patch port is missing is not looked at
// again when that arrives, only at the next full sync.
func givesUpOnPatchPort(p *agent.Parts) {
	decide := p.Driver.Port
	p.Driver.Port = func(v *ovsdb.View, uuid string, network func(string) exposure.Network) []exposure.Decision {
		decisions := decide(v, uuid, network)
		for _, d := range decisions {
			if d.Reason.Code == exposure.NoPatchPort {
				v.Forget("Interface")
			}
		}
		return decisions
	}
}

// losesTableMap (D16): the base wiring finds the tables of the bridges, and the
// first wiring of ports is given none. Only on a node without the agent's devices,
// so that the restart which ends every scenario does not show the defect as well.
func losesTableMap(p *agent.Parts) {
	plans, fresh := 0, false
	plan, wire := p.Plan, p.Provider
	p.Plan = func(names wiring.Names, facts node.Facts, base exposure.Base) (node.Layout, []wiring.Problem) {
		plans++
		_, made := facts.Links[names.BGPNIC]
		fresh = plans == 1 && !made
		return plan(names, facts, base)
	}
	p.Provider = func(l node.Layout, d exposure.Decision) ([]node.Want, *exposure.Reason) {
		if fresh {
			l.Bridges = map[string]node.Bridge{d.Bridge: {Present: true, Reason: fmt.Sprintf("KeyError: %q", d.Bridge)}}
		}
		return wire(l, d)
	}
}
