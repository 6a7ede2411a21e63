package agent

import (
	"time"

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

// settleTime is how long the notifications of the agent's own change of a device
// may be on their way.
const settleTime = time.Second

// linkChanged makes a sync due when a device that matters is not as it was
// believed to be. What the kernel tells on the way to a change of the agent's own
// is not news.
func (c *core) linkChanged(name string, link node.Link, present bool) {
	if c.syncs.count == 0 {
		return
	}
	if _, mapped := c.layout.Bridges[name]; mapped {
		c.judgeLink("bridge "+name, name, present && link.Up && c.isKnown(name, link), c.facts.Links[name].Index != 0 || present)
		return
	}
	wanted, ours := c.desired.Value(node.Device{Name: name})
	if !ours {
		return
	}
	spec := wanted.(node.DeviceSpec)
	asWanted := present && link.Type == spec.Type && link.Up == spec.Up && link.Master == spec.Master && link.Table == spec.Table
	if asWanted && c.settling(name) {
		c.facts.Links[name] = link
	}
	c.judgeLink("device "+name, name, asWanted && c.isKnown(name, link), true)
}

func (c *core) judgeLink(what, name string, fine, matters bool) {
	if fine || !matters || c.settling(name) {
		return
	}
	c.requestSync(what + " changed")
}

// isKnown: it is the device that was read or made, not one of the same name.
func (c *core) isKnown(name string, link node.Link) bool {
	known := c.facts.Links[name]
	return known.Index == link.Index && known.MAC == link.MAC
}

// settling: the agent itself has just changed the device.
func (c *core) settling(name string) bool { return c.now().Sub(c.devices[name]) < settleTime }
