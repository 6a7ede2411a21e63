package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ovn-bgp-agent/sim/ovsdb"
)

// AddChassis registers a host as ovn-controller does when it starts: the
// Chassis row with its Encap, then the Chassis_Private row.
func (c *Cloud) AddChassis(ctx context.Context, hostName string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.host(hostName)
	if err == nil && h.chassis != "" {
		err = errors.New("already registered")
	}
	if err == nil {
		err = c.registerChassis(ctx, h)
	}
	if err != nil {
		return fmt.Errorf("add chassis %s: %w", hostName, err)
	}
	return nil
}

func (c *Cloud) registerChassis(ctx context.Context, h *host) error {
	config := map[string]string{"ovn-bridge-mappings": mappingText(h.BridgeMappings), "datapath-type": "system"}
	results, err := c.sb.Transact(ctx,
		ovsdb.Insert("Encap", "encap", ovsdb.Row{"type": "geneve", "ip": h.TunnelIP, "chassis_name": h.SystemID, "options": map[string]string{"csum": "true"}}),
		ovsdb.Insert("Chassis", "", ovsdb.Row{"name": h.SystemID, "hostname": h.Name, "encaps": ovsdb.NamedUUID("encap"), "other_config": config, "external_ids": config}))
	if err != nil {
		return fmt.Errorf("OVN_Southbound: %w", err)
	}
	h.chassis = ovsdb.UUID(results[1].UUID.GoUUID)
	return c.southbound(ctx, ovsdb.Insert("Chassis_Private", "", ovsdb.Row{"name": h.SystemID, "chassis": h.chassis}))
}

// mappingText is the value of external_ids:ovn-bridge-mappings.
func mappingText(mappings map[string]string) string {
	pairs := make([]string, 0, len(mappings))
	for physnet, bridge := range mappings {
		pairs = append(pairs, physnet+":"+bridge)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func (c *Cloud) hostNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.hosts))
	for name := range c.hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
