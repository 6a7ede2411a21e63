// Package frr keeps the part of FRR's running configuration that leaks the
// announcing VRF into the default BGP instance (side-effects.md §4). It never
// removes the VRF's instance, and never saves FRR's configuration.
//
// It reads from bgpd itself, on its vty socket, as vtysh(1) does: a running
// configuration takes about 1 ms, a run of vtysh about 50. That protocol was
// tried with FRR 8.4.4; in the source of FRR 10 (lib/vty.c, vtysh_read) its end
// of an answer, and that these connections have no idle timeout, are unchanged.
// It writes by vtysh, which hands each line to the daemons concerned, and only
// what is missing makes it write.
package frr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"
)

var (
	// ErrUnknownRouterID says that no router-id is configured for the agent and
	// FRR has none.
	ErrUnknownRouterID = errors.New("Unknown router-id, needed for route leaking") //lint:ignore ST1005 operators know this text

	// ErrASMismatch says that FRR runs an instance with another AS than the wanted.
	ErrASMismatch = errors.New("AS of FRR is not bgp_AS")

	// ErrUnreachable says that a daemon of FRR cannot be asked, or does not answer.
	ErrUnreachable = errors.New("FRR is not reachable")
)

// Config says where FRR is.
type Config struct {
	VtyDir  string        // folder of the daemons' vty sockets, normally /run/frr
	Vtysh   string        // normally /usr/bin/vtysh
	Timeout time.Duration // for each answer of a daemon, and for a run of vtysh
	Log     *slog.Logger
}

// FRR is the routing suite of the node. Its methods may be called from several
// goroutines.
type FRR struct {
	config Config
	writes atomic.Uint64
}

// New returns an FRR that is asked as needed.
func New(c Config) *FRR { return &FRR{config: c} }

// Writes counts the runs of vtysh that were to change the configuration since
// [New], failed ones included.
func (f *FRR) Writes() uint64 { return f.writes.Load() }

// Running reads the running configuration of bgpd.
func (f *FRR) Running(ctx context.Context) (Running, error) {
	v, err := f.dial(ctx, bgpd)
	if err != nil {
		return Running{}, err
	}
	defer v.close()
	return v.running(ctx)
}

// RouterID is the router-id that the default BGP instance uses, configured or
// chosen by FRR itself; false when there is no such instance or it has none.
func (f *FRR) RouterID(ctx context.Context) (netip.Addr, bool, error) {
	v, err := f.dial(ctx, bgpd)
	if err != nil {
		return netip.Addr{}, false, err
	}
	defer v.close()
	return v.routerID(ctx)
}

func (v *vty) running(ctx context.Context) (Running, error) {
	text, err := v.run(ctx, "show running-config")
	if err != nil {
		return Running{}, err
	}
	return ParseRunning(text)
}

func (v *vty) routerID(ctx context.Context) (netip.Addr, bool, error) {
	// "show ip bgp summary json" has it only while a neighbour is activated.
	text, err := v.run(ctx, "show bgp vrfs json")
	if err != nil {
		return netip.Addr{}, false, err
	}
	id, err := parseRouterID(text)
	return id, id.IsValid(), err
}

// parseRouterID takes the default instance's router-id out of the answer to "show
// bgp vrfs json"; the zero Addr if there is none.
func parseRouterID(text string) (netip.Addr, error) {
	var answer struct {
		VRFs map[string]struct {
			Type     string `json:"type"`
			RouterID string `json:"routerId"`
		} `json:"vrfs"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return netip.Addr{}, fmt.Errorf("show bgp vrfs json: %w", err)
	}
	for _, vrf := range answer.VRFs {
		if vrf.Type != "DFLT" {
			continue
		}
		id, err := netip.ParseAddr(vrf.RouterID)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("show bgp vrfs json: routerId: %w", err)
		}
		if !id.IsUnspecified() {
			return id, nil
		}
	}
	return netip.Addr{}, nil
}
