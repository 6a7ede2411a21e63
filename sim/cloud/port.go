package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/sim/ovsdb"
)

// VM is an instance with one port.
type VM struct {
	Name      string // also the port's, unique in the cloud
	Network   string
	Host      string // where it runs; only BootVM and StartVM read it
	MAC       string // "" makes one up
	Addresses []netip.Addr
}

// port is a VM's port: what was wanted, and the identifiers of its rows.
type port struct {
	VM
	id       string // Neutron's port id: the Logical_Switch_Port's name
	deviceID string // Nova's instance id
	network  *network
	revision int
	options  map[string]string // of the Logical_Switch_Port
	external map[string]string // external_ids of both rows

	// Intent: where it runs, whether traffic may flow, what it answers to.
	host      *host
	up        bool
	answersTo []netip.Addr
}

// CreatePort makes a port that is on no host: the Logical_Switch_Port with up
// unset, then by northd its Port_Binding.
func (c *Cloud) CreatePort(ctx context.Context, vm VM) error {
	return c.verb("create port", vm.Name, func() error { return c.createPort(ctx, vm) })
}

// BindPort puts a port on a host: Neutron requests the chassis, northd passes
// it on, ovn-controller claims the port and makes the network's patch port.
// The port is down afterwards.
func (c *Cloud) BindPort(ctx context.Context, name, hostName string) error {
	return c.verb("bind port", name, func() error {
		p, h, err := c.portAndHost(name, hostName)
		if err != nil {
			return err
		}
		return c.bindPort(ctx, p, h)
	})
}

// PortUp tells that the port's flows are installed: up=true, first in
// OVN_Southbound, then in OVN_Northbound.
func (c *Cloud) PortUp(ctx context.Context, name string) error {
	return c.verb("port up", name, func() error { return c.withPort(name, func(p *port) error { return c.setUp(ctx, p, true) }) })
}

// PortDown is the opposite of PortUp; the port stays bound.
func (c *Cloud) PortDown(ctx context.Context, name string) error {
	return c.verb("port down", name, func() error { return c.withPort(name, func(p *port) error { return c.setUp(ctx, p, false) }) })
}

// DeletePort removes a port in whatever state it is: first the
// Logical_Switch_Port, then the Port_Binding.
func (c *Cloud) DeletePort(ctx context.Context, name string) error {
	return c.verb("delete port", name, func() error { return c.withPort(name, func(p *port) error { return c.deletePort(ctx, p) }) })
}

// verb runs a method's body under the lock and names verb and object in errors.
func (c *Cloud) verb(what, object string, do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := do(); err != nil {
		return fmt.Errorf("%s %s: %w", what, object, err)
	}
	c.log.Debug("cloud", "verb", what, "object", object)
	return nil
}

func (c *Cloud) withPort(name string, do func(*port) error) error {
	p, err := c.port(name)
	if err != nil {
		return err
	}
	return do(p)
}

func (c *Cloud) portAndHost(name, hostName string) (*port, *host, error) {
	p, err := c.port(name)
	if err != nil {
		return nil, nil, err
	}
	h, err := c.host(hostName)
	if err == nil && h.chassis == "" {
		err = fmt.Errorf("host %s has no chassis", hostName)
	}
	return p, h, err
}

func (c *Cloud) createPort(ctx context.Context, vm VM) error {
	if _, exists := c.ports[vm.Name]; exists {
		return errors.New("it exists")
	}
	n, err := c.network(vm.Network)
	if err != nil {
		return err
	}
	if vm.MAC == "" {
		vm.MAC = c.nextMAC()
	}
	p := &port{VM: vm, id: newID(), deviceID: newID(), network: n, revision: 1, answersTo: vm.Addresses}
	if p.external, err = p.externalIDs(); err != nil {
		return err
	}
	p.options = map[string]string{"mcast_flood_reports": "true"}
	err = c.northbound(ctx,
		ovsdb.Insert("Logical_Switch_Port", "port", ovsdb.Row{
			"name": p.id, "addresses": []string{p.addressText()}, "port_security": []string{p.addressText()},
			"enabled": true, "options": p.options, "external_ids": p.external,
		}),
		ovsdb.Mutate("Logical_Switch", "ports", libovsdb.MutateOperationInsert, []ovsdb.NamedUUID{"port"}, ovsdb.Is("name", n.switchName())))
	if err != nil {
		return err
	}
	n.nextPortKey++
	err = c.southbound(ctx, ovsdb.Insert("Port_Binding", "", ovsdb.Row{
		"logical_port": p.id, "datapath": n.datapath, "tunnel_key": n.nextPortKey,
		"mac": []string{p.addressText()}, "up": false, "options": p.options, "external_ids": p.external,
	}))
	if err != nil {
		return err
	}
	c.ports[vm.Name] = p
	return nil
}

// nextMAC makes up an address in Neutron's default range.
func (c *Cloud) nextMAC() string {
	c.macs++
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", c.macs>>16&0xff, c.macs>>8&0xff, c.macs&0xff)
}

// addressText is an entry of Logical_Switch_Port.addresses and of
// Port_Binding.mac: the MAC and the addresses without prefix length.
func (p *port) addressText() string {
	words := []string{p.MAC}
	for _, a := range p.Addresses {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

// externalIDs are the keys that Neutron writes for a compute port.
func (p *port) externalIDs() (map[string]string, error) {
	var cidrs []string
	for _, a := range p.Addresses {
		bits := -1
		for _, s := range p.network.Subnets {
			if s.Contains(a) {
				bits = s.Bits()
			}
		}
		if bits < 0 {
			return nil, fmt.Errorf("address %s is in no subnet of network %s", a, p.network.Name)
		}
		cidrs = append(cidrs, netip.PrefixFrom(a, bits).String())
	}
	return map[string]string{
		"neutron:cidrs":              strings.Join(cidrs, " "),
		"neutron:device_id":          p.deviceID,
		"neutron:device_owner":       "compute:nova",
		"neutron:network_name":       p.network.switchName(),
		"neutron:port_name":          p.Name,
		"neutron:port_capabilities":  "",
		"neutron:project_id":         strings.ReplaceAll(p.network.id, "-", ""),
		"neutron:revision_number":    strconv.Itoa(p.revision),
		"neutron:security_group_ids": "",
	}, nil
}

func (c *Cloud) bindPort(ctx context.Context, p *port, h *host) error {
	p.revision++
	p.options = with(p.options, "requested-chassis", h.Name)
	p.external = with(p.external, "neutron:host_id", h.Name, "neutron:revision_number", strconv.Itoa(p.revision))
	row := ovsdb.Row{"options": p.options, "external_ids": p.external}
	if err := c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", row, whereLSP(p.id))); err != nil {
		return err
	}
	row["requested_chassis"] = h.chassis
	if err := c.southbound(ctx, ovsdb.Update("Port_Binding", row, wherePB(p.id))); err != nil {
		return err
	}
	if err := c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", ovsdb.Row{"up": false}, whereLSP(p.id))); err != nil {
		return err
	}
	return c.claim(ctx, p, h)
}

// claim is ovn-controller's part of binding: it takes the port and connects
// the network.
func (c *Cloud) claim(ctx context.Context, p *port, h *host) error {
	if err := c.southbound(ctx, ovsdb.Update("Port_Binding", ovsdb.Row{"chassis": h.chassis}, wherePB(p.id))); err != nil {
		return err
	}
	p.host = h
	return h.connect(ctx, p.network)
}

func (c *Cloud) setUp(ctx context.Context, p *port, up bool) error {
	if p.host == nil {
		return errors.New("it is on no host")
	}
	p.up = up
	if err := c.southbound(ctx, ovsdb.Update("Port_Binding", ovsdb.Row{"up": up}, wherePB(p.id))); err != nil {
		return err
	}
	return c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", ovsdb.Row{"up": up}, whereLSP(p.id)))
}

// release is ovn-controller's part when the VM's interface goes away. northd
// reports it in OVN_Northbound.
func (c *Cloud) release(ctx context.Context, p *port) error {
	h := p.host
	p.host, p.up = nil, false
	if err := c.southbound(ctx, ovsdb.Update("Port_Binding", ovsdb.Row{"up": false, "chassis": nil}, wherePB(p.id))); err != nil {
		return err
	}
	if err := c.northbound(ctx, ovsdb.Update("Logical_Switch_Port", ovsdb.Row{"up": false}, whereLSP(p.id))); err != nil {
		return err
	}
	return c.disconnectIfUnused(ctx, h, p.network)
}

func (c *Cloud) deletePort(ctx context.Context, p *port) error {
	h := p.host
	delete(c.ports, p.Name)
	uuid, err := c.lspUUID(ctx, p.id)
	if err != nil {
		return err
	}
	if err := c.northbound(ctx,
		ovsdb.Mutate("Logical_Switch", "ports", libovsdb.MutateOperationDelete, []ovsdb.UUID{uuid}, ovsdb.Is("name", p.network.switchName())),
		ovsdb.Delete("Logical_Switch_Port", whereLSP(p.id))); err != nil {
		return err
	}
	if err := c.southbound(ctx, ovsdb.Delete("Port_Binding", wherePB(p.id))); err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	return c.disconnectIfUnused(ctx, h, p.network)
}

func (c *Cloud) lspUUID(ctx context.Context, name string) (ovsdb.UUID, error) {
	results, err := c.nb.Transact(ctx, ovsdb.Select("Logical_Switch_Port", []string{"_uuid"}, whereLSP(name)))
	if err != nil {
		return "", fmt.Errorf("OVN_Northbound: %w", err)
	}
	if len(results[0].Rows) != 1 {
		return "", fmt.Errorf("%d Logical_Switch_Port rows named %s", len(results[0].Rows), name)
	}
	return ovsdb.UUID(ovsdb.Strings(results[0].Rows[0]["_uuid"])[0]), nil
}

// with is m with keys and values added.
func with(m map[string]string, pairs ...string) map[string]string {
	out := maps.Clone(m)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}
