// Package kernel reads what the kernel of the node holds of the agent's objects,
// and applies steps to it: rtnetlink(7) for devices, addresses, rules, routes and
// neighbours, files for kernel parameters and for rt_tables.
//
// Nothing here decides: package node says what is wanted and in which order.
package kernel

import (
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// Config says where the kernel's files are.
type Config struct {
	RTTables        string   // the node's table names, normally /etc/iproute2/rt_tables
	RTTablesDefault []string // the distribution's own, the first that exists counts while RTTables is missing
	ProcSys         string   // normally /proc/sys
	Log             *slog.Logger
}

// Scope says which objects a [Kernel.Read] is about.
type Scope struct {
	BGPNIC      string
	BGPVRF      string
	BGPVRFTable uint32
	Bridges     []string // mapped provider bridges
	NamedTables []string // names in rt_tables whose tables are read too, besides those of Bridges
	Sysctls     []string // parameters in the syntax of sysctl(8)
}

// Kernel is the kernel's side of one network namespace. Its methods may be called
// from several goroutines.
type Kernel struct {
	config Config
	conn   *conn
	events *nl.NetlinkSocket // joined to RTNLGRP_LINK

	mu      sync.Mutex
	indexes map[string]int // device name → interface index; nil when not known
	bgpNIC  string         // of the last Read
	writes  map[node.Kind]uint64
}

// Open connects to the kernel in the network namespace of the calling thread.
// Changes of links are recorded from here on, for [Kernel.WatchLinks].
func Open(c Config) (*Kernel, error) {
	conn, err := dial(c.Log)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", named(err))
	}
	events, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		conn.close()
		return nil, fmt.Errorf("subscribe to link changes: %w", named(err))
	}
	return &Kernel{config: c, conn: conn, events: events, writes: map[node.Kind]uint64{}}, nil
}

// Close releases the sockets; a running [Kernel.WatchLinks] ends.
func (k *Kernel) Close() {
	k.conn.close()
	k.events.Close()
}

// Writes counts, by kind of object, the changes that were asked of the kernel or
// written to a file since [Open], refused ones included.
func (k *Kernel) Writes() map[node.Kind]uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.writes)
}

func (k *Kernel) countWrite(kind node.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes[kind]++
}

// write sends a request that changes an object of a kind.
func (k *Kernel) write(kind node.Kind, r *nl.NetlinkRequest) error {
	k.countWrite(kind)
	return k.conn.change(r)
}
