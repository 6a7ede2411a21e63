package cloud

import (
	"context"
	"fmt"
	"slices"
)

// PatchPorts makes and removes, on one host, the pair of patch ports that
// connects br-int with a provider bridge, as ovn-controller does when the
// first port of a network is bound there and the last one leaves.
type PatchPorts interface {
	Add(ctx context.Context, bridge, localnet string) error
	Remove(ctx context.Context, bridge, localnet string) error
}

// PatchPortNames are the names of the pair for a localnet port: the end on the
// provider bridge and the end on br-int.
func PatchPortNames(localnet string) (provider, integration string) {
	return "patch-" + localnet + "-to-br-int", "patch-br-int-to-" + localnet
}

// connect makes the network's patch port unless it is there, held back, or the
// host does not map the physical network.
func (h *host) connect(ctx context.Context, n *network) error {
	bridge, mapped := h.BridgeMappings[n.Physnet]
	if !mapped || h.Patch == nil || h.patched[n.Name] {
		return nil
	}
	if h.held {
		h.pending[n.Name] = true
		return nil
	}
	delete(h.pending, n.Name)
	if err := h.Patch.Add(ctx, bridge, n.localnet()); err != nil {
		return fmt.Errorf("add patch port on %s: %w", h.Name, err)
	}
	h.patched[n.Name] = true
	return nil
}

// disconnectIfUnused removes the network's patch port when no port of the
// network is on the host any more.
func (c *Cloud) disconnectIfUnused(ctx context.Context, h *host, n *network) error {
	for _, p := range c.ports {
		if p.host == h && p.network == n {
			return nil
		}
	}
	delete(h.pending, n.Name)
	if !h.patched[n.Name] {
		return nil
	}
	if err := h.Patch.Remove(ctx, h.BridgeMappings[n.Physnet], n.localnet()); err != nil {
		return fmt.Errorf("remove patch port on %s: %w", h.Name, err)
	}
	delete(h.patched, n.Name)
	return nil
}

// HoldPatchPorts makes patch ports that would appear on a host from now on wait
// for ReleasePatchPorts. Those that are there stay.
func (c *Cloud) HoldPatchPorts(hostName string) error {
	return c.verb("hold patch ports", hostName, func() error {
		h, err := c.host(hostName)
		if err == nil {
			h.held = true
		}
		return err
	})
}

// ReleasePatchPorts makes the held patch ports of the named networks; without
// names it makes all and ends the hold.
func (c *Cloud) ReleasePatchPorts(ctx context.Context, hostName string, networks ...string) error {
	return c.verb("release patch ports", hostName, func() error {
		h, err := c.host(hostName)
		if err != nil {
			return err
		}
		hold := len(networks) > 0
		if !hold {
			for name := range h.pending {
				networks = append(networks, name)
			}
			slices.Sort(networks)
		}
		h.held = false
		defer func() { h.held = hold }()
		for _, name := range networks {
			if err := c.releaseOne(ctx, h, name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cloud) releaseOne(ctx context.Context, h *host, networkName string) error {
	n, err := c.network(networkName)
	if err != nil {
		return err
	}
	if !h.pending[networkName] {
		return fmt.Errorf("network %s has no held patch port", networkName)
	}
	return h.connect(ctx, n)
}
