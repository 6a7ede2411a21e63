package cloud

import (
	"context"
	"maps"
	"slices"
)

// Clear deletes every VM and then every network, in the order of their names.
func (c *Cloud) Clear(ctx context.Context) error {
	c.mu.Lock()
	ports := slices.Sorted(maps.Keys(c.ports))
	networks := slices.Sorted(maps.Keys(c.networks))
	c.mu.Unlock()
	for _, name := range ports {
		if err := c.DeleteVM(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range networks {
		if err := c.DeleteNetwork(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// MAC is a port's MAC address, "" if there is no such port.
func (c *Cloud) MAC(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.ports[name]; ok {
		return p.VM.MAC
	}
	return ""
}

// Empty tells whether there are no networks and no ports.
func (c *Cloud) Empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.networks) == 0 && len(c.ports) == 0
}
