package netns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	ovsSchema   = "/usr/share/openvswitch/vswitch.ovsschema"
	ovsDatabase = "/etc/openvswitch/conf.db"
	ovsSocket   = "/run/openvswitch/db.sock"
)

// OVSConfig describes a node's Open vSwitch. Names as in ovs-vswitchd.conf.db(5) and ovn-controller(8).
type OVSConfig struct {
	// SystemID, Hostname and BridgeMappings become external_ids system-id, hostname and ovn-bridge-mappings; an empty one is
	// left out.
	SystemID, Hostname, BridgeMappings string
	// ExternalIDs are further ones.
	ExternalIDs map[string]string
	// Bridges are made; br-int gets fail_mode secure, as ovn-controller has it.
	Bridges []string
	// DatapathType is the bridges' datapath_type, "system" or "netdev"; empty: "system" where this kernel has the Open vSwitch
	// datapath, else "netdev".
	DatapathType string
}

// StartOVS starts ovsdb-server and ovs-vswitchd on their default paths and returns when ovs-vswitchd has made the bridges.
func (n *Node) StartOVS(ctx context.Context, c OVSConfig) error {
	if err := n.startOVS(ctx, c); err != nil {
		return fmt.Errorf("node %s: Open vSwitch: %w", n.config.Name, err)
	}
	return nil
}

func (n *Node) startOVS(ctx context.Context, c OVSConfig) error {
	if c.DatapathType == "" {
		var err error
		if c.DatapathType, err = n.datapathType(); err != nil {
			return err
		}
	}
	if _, err := n.Run(ctx, "ovsdb-tool", "create", ovsDatabase, ovsSchema); err != nil {
		return err
	}
	server, err := n.Start(ctx, ProcessConfig{Name: "ovsdb-server", Args: []string{"ovsdb-server", ovsDatabase,
		"--remote=punix:" + ovsSocket, "--remote=db:Open_vSwitch,Open_vSwitch,manager_options",
		"--pidfile", "-vconsole:info", "-vsyslog:off"}})
	if err != nil {
		return err
	}
	if err := n.awaitSocket(ctx, server, ovsSocket); err != nil {
		return err
	}
	if _, err := n.Start(ctx, ProcessConfig{Name: "ovs-vswitchd", Args: []string{"ovs-vswitchd", "unix:" + ovsSocket,
		"--pidfile", "-vconsole:info", "-vsyslog:off"}}); err != nil {
		return err
	}
	// ovs-vsctl waits until ovs-vswitchd has done what it wrote.
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("ovs-vswitchd not ready after %v", readyWithin))
	defer cancel()
	if _, err := n.Run(ctx, "ovs-vsctl", ovsSetup(c)...); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return nil
}

// ovsSetup is one ovs-vsctl transaction that writes the whole configuration.
func ovsSetup(c OVSConfig) []string {
	ids := map[string]string{"system-id": c.SystemID, "hostname": c.Hostname, "ovn-bridge-mappings": c.BridgeMappings}
	maps.DeleteFunc(ids, func(_, v string) bool { return v == "" })
	maps.Copy(ids, c.ExternalIDs)
	args := []string{"init"}
	for _, k := range slices.Sorted(maps.Keys(ids)) {
		args = append(args, "--", "set", "Open_vSwitch", ".", fmt.Sprintf("external_ids:%s=%q", k, ids[k]))
	}
	for _, b := range c.Bridges {
		args = append(args, "--", "add-br", b, "--", "set", "Bridge", b, "datapath_type="+c.DatapathType)
		if b == "br-int" {
			args = append(args, "fail_mode=secure")
		}
	}
	return args
}

// datapathType looks whether the kernel has the Open vSwitch datapath; asking loads the module where there is one.
func (n *Node) datapathType() (string, error) {
	_, err := n.netlink.GenlFamilyGet("ovs_datapath")
	if err == nil {
		return "system", nil
	}
	if errors.Is(err, unix.ENOENT) {
		return "netdev", nil
	}
	return "", fmt.Errorf("look for the kernel's datapath: %w", err)
}
