package kernel

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// Read takes the state of the objects in scope and the facts about the node, with
// one dump per kind of object. The state has
//   - bgp_vrf, bgp_nic and every VLAN device on a mapped bridge, as they really are;
//   - mapped bridges that are up, rt_tables lines of mapped bridges, the parameters in scope that exist;
//   - global addresses, permanent neighbours and NDP proxies on mapped bridges and their VLAN devices;
//   - rules of priority 32000 with a destination and no other selector, to a table of a bridge;
//   - unicast routes in the tables of bridges, except those of BGP, and those with proto boot in the table of bgp_vrf;
//   - host addresses of bgp_nic, as announcements.
//
// An error means that nothing was read; there are no partial results.
func (k *Kernel) Read(ctx context.Context, s Scope) (node.State, node.Facts, error) {
	r := reading{kernel: k, scope: s, state: node.State{}}
	k.mu.Lock()
	k.bgpNIC = s.BGPNIC
	k.mu.Unlock()
	for _, part := range []func(context.Context) error{
		r.readFiles, r.readLinks, r.readSysctls, r.readAddresses, r.readRules, r.readRoutes, r.readNeighbours, r.readProxies,
	} {
		if err := part(ctx); err != nil {
			return nil, node.Facts{}, err
		}
	}
	return r.state, r.facts, nil
}

// reading is one Read in progress.
type reading struct {
	kernel *Kernel
	scope  Scope
	state  node.State
	facts  node.Facts
	links  links
	tables map[uint32]struct{} // of bridges
}

func (r *reading) readFiles(context.Context) error {
	text, _, err := r.kernel.readRTTables()
	if err != nil {
		return err
	}
	r.facts.RTTables, r.facts.UsedTables = parseRTTables(text)
	r.tables = map[uint32]struct{}{}
	for _, name := range slices.Concat(r.scope.Bridges, r.scope.NamedTables) {
		if table, listed := r.facts.RTTables[name]; listed && table != r.scope.BGPVRFTable {
			r.tables[table] = struct{}{}
		}
	}
	for _, bridge := range r.scope.Bridges {
		if table, listed := r.facts.RTTables[bridge]; listed {
			r.state[node.RTTable{Name: bridge}] = table
		}
	}
	return nil
}

func (r *reading) readLinks(ctx context.Context) error {
	all, err := r.kernel.readLinks(ctx)
	if err != nil {
		return err
	}
	r.links, r.facts.Links = all, all.byName
	for name, link := range all.byName {
		switch {
		case name == r.scope.BGPVRF || name == r.scope.BGPNIC || r.isVLAN(link):
			r.state[node.Device{Name: name}] = node.DeviceSpec{
				Type: link.Type, Table: link.Table, Parent: link.Parent, VLAN: link.VLAN, Master: link.Master, Up: link.Up,
			}
		case r.isBridge(name) && link.Up:
			r.state[node.LinkUp{Dev: name}] = node.Present{}
		}
	}
	return nil
}

func (r *reading) isBridge(dev string) bool { return slices.Contains(r.scope.Bridges, dev) }

// isVLAN: the device is a VLAN of a mapped bridge.
func (r *reading) isVLAN(l node.Link) bool { return l.Type == kindVLAN && r.isBridge(l.Parent) }

// provider is the device with an index if it is a mapped bridge or a VLAN of one.
func (r *reading) provider(index int) (dev string, ok bool) {
	dev, ok = r.links.names[index]
	return dev, ok && (r.isBridge(dev) || r.isVLAN(r.links.byName[dev]))
}

func (r *reading) readSysctls(context.Context) error {
	for _, key := range r.scope.Sysctls {
		value, exists, err := r.kernel.readSysctl(key)
		if err != nil {
			return err
		}
		if exists {
			r.state[node.Sysctl{Key: key}] = value
		}
	}
	var err error
	r.facts.Forwarding, err = r.kernel.readForwarding()
	return err
}

func (r *reading) readAddresses(ctx context.Context) error {
	addresses, err := r.kernel.readAddresses(ctx, 0)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if a.scope != unix.RT_SCOPE_UNIVERSE {
			continue
		}
		if r.links.names[a.index] == r.scope.BGPNIC {
			if a.prefix.IsSingleIP() {
				r.state[node.Announcement{Prefix: a.prefix}] = node.Present{}
			}
		} else if dev, ok := r.provider(a.index); ok {
			r.state[node.Address{Dev: dev, Prefix: a.prefix}] = node.Present{}
		}
	}
	return nil
}

func (r *reading) readRules(ctx context.Context) error {
	rules, err := r.kernel.readRules(ctx)
	if err != nil {
		return err
	}
	for _, found := range rules {
		if found.table != unix.RT_TABLE_UNSPEC {
			r.facts.UsedTables[found.table] = struct{}{}
		}
		if _, ours := r.tables[found.table]; ours && found.plain && found.priority == node.RulePriority {
			r.state[node.Rule{Dst: found.dst, Table: found.table}] = node.Present{}
		}
	}
	return nil
}

func (r *reading) readRoutes(ctx context.Context) error {
	routes, tables, err := r.kernel.readRoutes(ctx, r.wantsRoute)
	if err != nil {
		return err
	}
	for table := range tables {
		r.facts.UsedTables[table] = struct{}{}
	}
	for _, found := range routes {
		// The first of several routes with one key is the one in effect.
		if _, seen := r.state[found.key]; !seen {
			found.spec.Dev = r.links.names[found.index]
			r.state[found.key] = found.spec
		}
	}
	return nil
}

func (r *reading) wantsRoute(found route) bool {
	if !found.unicast {
		return false
	}
	if found.key.Table == r.scope.BGPVRFTable {
		return found.spec.Proto == node.ProtoBoot
	}
	_, ours := r.tables[found.key.Table]
	return ours && found.spec.Proto != unix.RTPROT_BGP
}

func (r *reading) readNeighbours(ctx context.Context) error {
	neighbours, err := r.kernel.readNeighbours(ctx)
	if err != nil {
		return err
	}
	for _, n := range neighbours {
		if dev, ok := r.provider(n.index); ok {
			r.state[node.Neighbour{Dev: dev, IP: n.ip}] = n.mac
		}
	}
	return nil
}

func (r *reading) readProxies(ctx context.Context) error {
	proxies, err := r.kernel.readProxies(ctx)
	if err != nil {
		return err
	}
	for _, p := range proxies {
		if dev, ok := r.provider(p.index); ok {
			r.state[node.Proxy{Dev: dev, IP: p.ip}] = node.Present{}
		}
	}
	return nil
}
