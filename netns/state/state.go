// Package state reads what a node has — links, addresses, rules, routes,
// neighbours, proxies, sysctls, flows, FRR's BGP configuration — as text in the
// syntax of ip(8), sysctl(8), ovs-ofctl(8) and FRR. Expectations in tests and dumps
// of failures are this text.
//
// Left out are what every namespace has: the loopback device, the kernel's default
// rules, the tables local and main, link-local IPv6 addresses, multicast.
package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netns"
)

// Section names, in the order in which [State.String] shows them.
const (
	Links      = "links"
	Addresses  = "addresses"
	RTTables   = "rt_tables"
	Rules      = "rules"
	Routes     = "routes"
	Neighbours = "neighbours"
	Proxies    = "proxies"
	Sysctls    = "sysctls"
	Flows      = "flows"
	FRR        = "frr"
)

func sectionNames() []string {
	return []string{Links, Addresses, RTTables, Rules, Routes, Neighbours, Proxies, Sysctls, Flows, FRR}
}

// State is a node's state: lines by section. FRR's lines are in the order of its
// configuration, all others are sorted.
type State map[string][]string

// Section returns the lines of one section.
func (s State) Section(name string) []string { return s[name] }

// String is the whole state, with a heading for each section that has lines.
func (s State) String() string {
	var out strings.Builder
	for _, name := range sectionNames() {
		if len(s[name]) == 0 {
			continue
		}
		fmt.Fprintf(&out, "# %s\n%s\n", name, strings.Join(s[name], "\n"))
	}
	return out.String()
}

// Reader says what to read, and where.
type Reader struct {
	// NetNS is the node's network namespace; netns.None() is the caller's.
	NetNS netns.NsHandle
	// Run executes a program on the node and returns its standard output. Without
	// it rt_tables, flows and FRR are not read.
	Run func(ctx context.Context, name string, args ...string) (string, error)
	// Bridges are the Open vSwitch bridges whose flows are read.
	Bridges []string
	// SysctlDevices are the devices whose proxy_arp, proxy_ndp and forwarding are
	// read; "all" stands for the namespace.
	SysctlDevices []string
	// MainTable also reads the routes of table main.
	MainTable bool
	// KernelRoutes also reads the routes that the kernel makes for addresses.
	KernelRoutes bool
	// FRR reads the running configuration.
	FRR bool
}

// Read reads the state. What can be read is returned also with an error.
func Read(ctx context.Context, r Reader) (State, error) {
	s := State{}
	err := errors.Join(
		r.readKernel(s),
		r.readSysctls(s),
		r.readRTTables(ctx, s),
		r.readFlows(ctx, s),
		r.readFRR(ctx, s),
	)
	for name, lines := range s {
		if name != FRR {
			slices.Sort(lines)
		}
	}
	if err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	return s, nil
}
