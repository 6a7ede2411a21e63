package agent

import (
	"ovn-bgp-agent/agent/node"
)

// lostFlows: the switch has restarted or the bridge was made anew, so nothing is
// known of its flows; they are put back at once.
func (c *core) lostFlows(bridge string) {
	for key := range c.actual {
		if flow, ok := key.(node.Flow); ok && flow.Bridge == bridge {
			delete(c.actual, key)
			c.dirty[key] = struct{}{}
		}
	}
}

// linkChanged makes a sync due when a device that matters is not as it was
// believed to be; the echo of the agent's own changes is not news.
func (c *core) linkChanged(name string, link node.Link, present bool) {
	if c.syncs.count == 0 {
		return
	}
	if _, mapped := c.layout.Bridges[name]; mapped {
		known, was := c.facts.Links[name]
		if present != was || (present && (known.Index != link.Index || known.MAC != link.MAC || !link.Up)) {
			c.requestSync("bridge " + name + " changed")
		}
		return
	}
	wanted, ours := c.desired.Value(node.Device{Name: name})
	if !ours {
		return
	}
	spec := wanted.(node.DeviceSpec)
	asWanted := present && link.Type == spec.Type && link.Up == spec.Up && link.Master == spec.Master && link.Table == spec.Table
	if !asWanted || c.replaced(name, link.Index) {
		c.requestSync("device " + name + " changed")
	}
}

// replaced: the device has another index than it had, so the kernel keeps nothing
// of the old one. A device that the agent has just made is learned here.
func (c *core) replaced(name string, index int) bool {
	known, was := c.facts.Links[name]
	if !was {
		c.facts.Links[name] = node.Link{Index: index}
		return false
	}
	return known.Index != index
}
