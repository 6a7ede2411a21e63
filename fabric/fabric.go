// Package fabric is the BGP peer of every node of the testbed, and the record of
// what the nodes announced to it.
//
// The speaker is GoBGP, which no exported identifier shows. It only accepts
// sessions: a connection that it opened itself would leave from whatever network
// namespace the calling thread happens to be in.
package fabric

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/vishvananda/netns"
)

// Port is the TCP port of BGP (RFC 4271 §8.2.1.5).
const Port = 179

// Peer is one BGP session as the fabric expects it. Several sessions may belong to
// one node, for example one over IPv4 and one over IPv6.
type Peer struct {
	Name    string     // the node
	Address netip.Addr // the neighbour's address, as the fabric sees it
	AS      uint32     // the neighbour's AS number; the fabric's own makes it iBGP
}

// Config says how to start a [Fabric].
type Config struct {
	AS       uint32
	RouterID netip.Addr // an IPv4 address (RFC 4271 §4.2)
	// NetNS is the network namespace in which connections are accepted; zero or
	// netns.None() is the caller's.
	NetNS netns.NsHandle
	Port  int // TCP port; 0 is [Port]
	Peers []Peer
	// GracefulRestart offers RFC 4724 to the peers. The routes of a peer whose
	// session is lost then stay until the end of its restart time.
	GracefulRestart bool
	Log             *slog.Logger
}

// Fabric is a running BGP speaker that records what its peers announce.
type Fabric struct {
	speaker  *speaker
	recorder *recorder
	timeline *Timeline
}

// Start opens the listener inside the namespace and begins to record. ctx bounds
// only the start; [Fabric.Stop] ends the fabric.
//
// GoBGP keeps its route selection options in package variables that each start
// writes: do not start a second fabric in a process while another one has sessions.
func Start(ctx context.Context, c Config) (*Fabric, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	if c.Port == 0 {
		c.Port = Port
	}
	f := &Fabric{timeline: NewTimeline()}
	f.recorder = newRecorder(c.Peers, f.timeline, c.Log)
	var err error
	if f.speaker, err = startSpeaker(ctx, c, f.recorder); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	return f, nil
}

func (c Config) check() error {
	switch {
	case c.Log == nil:
		return errors.New("no logger")
	case c.AS == 0:
		return errors.New("AS number 0")
	case !c.RouterID.Is4():
		return fmt.Errorf("router-id %v is not an IPv4 address", c.RouterID)
	}
	seen := map[netip.Addr]string{}
	for _, p := range c.Peers {
		if p.Name == "" || !p.Address.IsValid() || p.AS == 0 {
			return fmt.Errorf("incomplete peer %+v", p)
		}
		if other, twice := seen[p.Address]; twice {
			return fmt.Errorf("peers %s and %s have the same address %s", other, p.Name, p.Address)
		}
		seen[p.Address] = p.Name
	}
	return nil
}

// Stop closes all sessions and the listener, and releases the namespace. The
// timeline records nothing of it and stays readable. Only the first call acts.
func (f *Fabric) Stop() { f.speaker.stop() }

// Established reports whether every session of the node is in state Established
// (RFC 4271 §8.2.2). It is false for an unknown node.
func (f *Fabric) Established(name string) bool { return f.recorder.established(name) }

// WaitEstablished returns when [Fabric.Established] holds for each of the nodes,
// or with an error that names those for which it does not when ctx ends.
func (f *Fabric) WaitEstablished(ctx context.Context, names ...string) error {
	missing := func() (down []string) {
		for _, name := range names {
			if !f.Established(name) {
				down = append(down, name)
			}
		}
		return down
	}
	err := f.timeline.WaitFor(ctx, func() bool { return len(missing()) == 0 })
	if err != nil {
		return fmt.Errorf("fabric: no established session with %v: %w", missing(), err)
	}
	return nil
}

// Timeline is the record of what the peers announced and withdrew.
func (f *Fabric) Timeline() *Timeline { return f.timeline }
