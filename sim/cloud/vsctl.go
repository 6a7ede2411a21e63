package cloud

import (
	"context"
	"fmt"
)

// Runner runs a program on a host and returns its output.
type Runner func(ctx context.Context, name string, args ...string) (string, error)

// Vsctl makes patch ports in a host's real Open vSwitch, by ovs-vsctl.
type Vsctl struct {
	Run Runner
}

// Add implements PatchPorts. It returns when ovs-vswitchd has made the ports.
func (v Vsctl) Add(ctx context.Context, bridge, localnet string) error {
	provider, integration := PatchPortNames(localnet)
	args := addPatch(bridge, provider, integration, localnet)
	args = append(append(args, "--"), addPatch("br-int", integration, provider, localnet)...)
	return v.run(ctx, args)
}

func addPatch(bridge, name, peer, localnet string) []string {
	return []string{
		"--may-exist", "add-port", bridge, name,
		"--", "set", "Interface", name, "type=patch", "options:peer=" + peer,
		"--", "set", "Port", name, "external_ids:ovn-localnet-port=" + localnet,
	}
}

// Remove implements PatchPorts.
func (v Vsctl) Remove(ctx context.Context, bridge, localnet string) error {
	provider, integration := PatchPortNames(localnet)
	return v.run(ctx, []string{"--if-exists", "del-port", bridge, provider, "--", "--if-exists", "del-port", "br-int", integration})
}

func (v Vsctl) run(ctx context.Context, args []string) error {
	if out, err := v.Run(ctx, "ovs-vsctl", args...); err != nil {
		return fmt.Errorf("ovs-vsctl: %w: %s", err, out)
	}
	return nil
}
