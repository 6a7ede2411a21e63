package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/sim/ovsdb"
)

// Config is what a Cloud works on. All fields are required; Hosts may be empty.
type Config struct {
	NB, SB ovsdb.Server // OVN_Northbound and OVN_Southbound
	Hosts  []Host
	Log    *slog.Logger
}

// Host is a compute or gateway node.
type Host struct {
	// Name is the host name, as in requested-chassis and neutron:host_id.
	Name string
	// SystemID is Open_vSwitch's external_ids:system-id and the Chassis name.
	SystemID string
	// TunnelIP is the host's encapsulation address, unique in the cloud; ""
	// makes one up in 192.0.2.0/24.
	TunnelIP string
	// BridgeMappings are physical network → bridge.
	BridgeMappings map[string]string
	// Patch makes the patch ports on the host. nil: none are made.
	Patch PatchPorts
}

// Cloud is the state of the actors. Its methods may be called from several
// goroutines; verbs run one at a time.
type Cloud struct {
	nb, sb ovsdb.Server
	log    *slog.Logger

	mu          sync.Mutex
	hosts       map[string]*host
	networks    map[string]*network
	ports       map[string]*port
	datapathKey int // last tunnel key of a datapath
	macs        int // last made-up MAC address
}

// host is a Host with what is on it.
type host struct {
	Host
	chassis ovsdb.UUID      // its Chassis row, "" before AddChassis
	patched map[string]bool // networks whose patch port is there
	held    bool            // patch ports wait for ReleasePatchPorts
	pending map[string]bool // networks whose patch port is held back
}

// New makes a cloud. It writes nothing before Start.
func New(cfg Config) *Cloud {
	c := &Cloud{nb: cfg.NB, sb: cfg.SB, log: cfg.Log, hosts: map[string]*host{}, networks: map[string]*network{}, ports: map[string]*port{}}
	for i, h := range cfg.Hosts {
		if h.TunnelIP == "" {
			h.TunnelIP = fmt.Sprintf("192.0.2.%d", i+1)
		}
		c.hosts[h.Name] = &host{Host: h, patched: map[string]bool{}, pending: map[string]bool{}}
	}
	return c
}

// Start writes the rows every deployment has (NB_Global, SB_Global) and the
// chassis of all hosts.
func (c *Cloud) Start(ctx context.Context) error {
	if err := c.northbound(ctx, ovsdb.Insert("NB_Global", "", ovsdb.Row{})); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := c.southbound(ctx, ovsdb.Insert("SB_Global", "", ovsdb.Row{})); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for _, name := range c.hostNames() {
		if err := c.AddChassis(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cloud) northbound(ctx context.Context, ops ...libovsdb.Operation) error {
	if _, err := c.nb.Transact(ctx, ops...); err != nil {
		return fmt.Errorf("OVN_Northbound: %w", err)
	}
	return nil
}

func (c *Cloud) southbound(ctx context.Context, ops ...libovsdb.Operation) error {
	if _, err := c.sb.Transact(ctx, ops...); err != nil {
		return fmt.Errorf("OVN_Southbound: %w", err)
	}
	return nil
}

func newID() string { return uuid.NewString() }

func (c *Cloud) host(name string) (*host, error) {
	h, ok := c.hosts[name]
	if !ok {
		return nil, fmt.Errorf("no host %q", name)
	}
	return h, nil
}

func (c *Cloud) network(name string) (*network, error) {
	n, ok := c.networks[name]
	if !ok {
		return nil, fmt.Errorf("no network %q", name)
	}
	return n, nil
}

func (c *Cloud) port(name string) (*port, error) {
	p, ok := c.ports[name]
	if !ok {
		return nil, fmt.Errorf("no port %q", name)
	}
	return p, nil
}
