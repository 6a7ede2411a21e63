package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/sim/ovsdb"
)

// ProviderNetwork is a network that is on the wire of the hosts that map its
// physical network.
type ProviderNetwork struct {
	Name    string // the user's name for it, unique in the cloud
	Physnet string
	VLAN    int // 802.1Q tag, 0 for a flat network
	Subnets []netip.Prefix
}

type network struct {
	ProviderNetwork
	id          string     // Neutron's
	localnetID  string     // of the segment
	logical     ovsdb.UUID // the Logical_Switch row
	datapath    ovsdb.UUID // the Datapath_Binding row
	nextPortKey int
}

// switchName is the Logical_Switch's name.
func (n *network) switchName() string { return "neutron-" + n.id }

// localnet is the name of the localnet Logical_Switch_Port.
func (n *network) localnet() string { return "provnet-" + n.localnetID }

// CreateNetwork makes a provider network: the Logical_Switch with its localnet
// port, then, by northd, the Datapath_Binding and the localnet's Port_Binding.
func (c *Cloud) CreateNetwork(ctx context.Context, spec ProviderNetwork) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.createNetwork(ctx, spec); err != nil {
		return fmt.Errorf("create network %s: %w", spec.Name, err)
	}
	return nil
}

func (c *Cloud) createNetwork(ctx context.Context, spec ProviderNetwork) error {
	if _, exists := c.networks[spec.Name]; exists {
		return errors.New("it exists")
	}
	n := &network{ProviderNetwork: spec, id: newID(), localnetID: newID()}
	results, err := c.nb.Transact(ctx,
		ovsdb.Insert("Logical_Switch_Port", "localnet", n.localnetRow()),
		ovsdb.Insert("Logical_Switch", "", ovsdb.Row{
			"name":  n.switchName(),
			"ports": ovsdb.NamedUUID("localnet"),
			"external_ids": map[string]string{
				"neutron:network_name": spec.Name, "neutron:mtu": "1500",
				"neutron:revision_number": "1", "neutron:availability_zone_hints": "",
			},
			"other_config": map[string]string{"mcast_snoop": "false", "mcast_flood_unregistered": "false", "vlan-passthru": "false"},
		}))
	if err != nil {
		return fmt.Errorf("OVN_Northbound: %w", err)
	}
	n.logical = ovsdb.UUID(results[1].UUID.GoUUID)
	if err := c.bindNetwork(ctx, n); err != nil {
		return err
	}
	c.networks[spec.Name] = n
	return c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", ovsdb.Row{"up": false}, ovsdb.Is("name", n.localnet())))
}

func (n *network) localnetRow() ovsdb.Row {
	return ovsdb.Row{
		"name":      n.localnet(),
		"type":      "localnet",
		"addresses": []string{"unknown"},
		"options":   map[string]string{"network_name": n.Physnet, "mcast_flood": "false", "mcast_flood_reports": "true"},
		"tag":       n.tag(),
	}
}

// tag is the column of that name: empty for a flat network.
func (n *network) tag() []int {
	if n.VLAN == 0 {
		return nil
	}
	return []int{n.VLAN}
}

// bindNetwork writes what northd derives from the Logical_Switch.
func (c *Cloud) bindNetwork(ctx context.Context, n *network) error {
	c.datapathKey++
	datapath := ovsdb.Row{
		"tunnel_key":   c.datapathKey,
		"external_ids": map[string]string{"logical-switch": string(n.logical), "name": n.switchName(), "name2": n.Name},
	}
	if c.sb.Schema().HasColumn("Datapath_Binding", "nb_uuid") {
		datapath["nb_uuid"], datapath["type"] = n.logical, "logical-switch"
	}
	n.nextPortKey = 1
	results, err := c.sb.Transact(ctx,
		ovsdb.Insert("Datapath_Binding", "datapath", datapath),
		ovsdb.Insert("Port_Binding", "", ovsdb.Row{
			"datapath":     ovsdb.NamedUUID("datapath"),
			"logical_port": n.localnet(),
			"type":         "localnet",
			"mac":          []string{"unknown"},
			"options":      map[string]string{"network_name": n.Physnet, "mcast_flood": "false", "mcast_flood_reports": "true"},
			"tag":          n.tag(),
			"tunnel_key":   n.nextPortKey,
			"up":           false,
		}))
	if err != nil {
		return fmt.Errorf("OVN_Southbound: %w", err)
	}
	n.datapath = ovsdb.UUID(results[0].UUID.GoUUID)
	return nil
}

// DeleteNetwork removes a network that has no ports.
func (c *Cloud) DeleteNetwork(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.deleteNetwork(ctx, name); err != nil {
		return fmt.Errorf("delete network %s: %w", name, err)
	}
	return nil
}

func (c *Cloud) deleteNetwork(ctx context.Context, name string) error {
	n, err := c.network(name)
	if err != nil {
		return err
	}
	for _, p := range c.ports {
		if p.network == n {
			return fmt.Errorf("port %s is on it", p.Name)
		}
	}
	if err := c.northbound(ctx, ovsdb.Delete("Logical_Switch", ovsdb.Is("name", n.switchName()))); err != nil {
		return err
	}
	if err := c.southbound(ctx,
		ovsdb.Delete("Port_Binding", ovsdb.Is("datapath", n.datapath)),
		ovsdb.Delete("Datapath_Binding", ovsdb.Is("_uuid", n.datapath))); err != nil {
		return err
	}
	delete(c.networks, name)
	return nil
}

// LocalnetPort is the name of a network's localnet Logical_Switch_Port, "" if
// there is no such network.
func (c *Cloud) LocalnetPort(networkName string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.networks[networkName]; ok {
		return n.localnet()
	}
	return ""
}

// LogicalSwitch is the name of a network's Logical_Switch, "" if there is no
// such network.
func (c *Cloud) LogicalSwitch(networkName string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.networks[networkName]; ok {
		return n.switchName()
	}
	return ""
}

// whereLSP selects a port's Logical_Switch_Port.
func whereLSP(name string) libovsdb.Condition { return ovsdb.Is("name", name) }

// wherePB selects a port's Port_Binding.
func wherePB(name string) libovsdb.Condition { return ovsdb.Is("logical_port", name) }
