package frr

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
)

// Want is the leak that FRR should have.
type Want struct {
	AS           uint32
	VRF          string
	RouterID     netip.Addr // of the VRF's instance; zero: that of FRR's default instance
	Redistribute []string
	DryRun       bool // look only
}

// Outcome is what was found and done.
type Outcome struct {
	Wrote    bool
	Missing  []string   // what was found missing, as [Leak.Missing] lists it
	RouterID netip.Addr // of the VRF's instance; zero while unknown
	AS       uint32     // of FRR's default instance when it was read; 0 if there was none
}

// Ensure has FRR take what it lacks of the leak, and reads back that it did. When
// nothing is missing, nothing is written. Errors: [ErrUnreachable],
// [ErrASMismatch], [ErrUnknownRouterID]; any other says what FRR refused.
func (f *FRR) Ensure(ctx context.Context, w Want) (Outcome, error) {
	v, err := f.dial(ctx, bgpd)
	if err != nil {
		return Outcome{}, err
	}
	defer v.close()
	running, err := v.running(ctx)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{AS: running.Default.AS}
	if err := sameAS(running, w); err != nil {
		return outcome, err
	}
	leak := Leak{w.AS, w.VRF, w.RouterID, w.Redistribute}
	if !leak.RouterID.IsValid() {
		id, known, err := v.routerID(ctx)
		if err != nil {
			return outcome, err
		}
		if !known {
			return outcome, ErrUnknownRouterID
		}
		leak.RouterID = id
	}
	outcome.RouterID = leak.RouterID
	outcome.Missing = leak.Missing(running)
	if len(outcome.Missing) == 0 || w.DryRun {
		return outcome, nil
	}
	outcome.Wrote = true
	return outcome, f.write(ctx, v, leak, running)
}

// sameAS: FRR cannot change the AS of an instance, and the agent must not remove
// one.
func sameAS(r Running, w Want) error {
	if as := r.Default.AS; as != 0 && as != w.AS {
		return fmt.Errorf("%w: router bgp %d, bgp_AS is %d", ErrASMismatch, as, w.AS)
	}
	if as := r.VRFs[w.VRF].AS; as != 0 && as != w.AS {
		return fmt.Errorf("%w: router bgp %d vrf %s, bgp_AS is %d", ErrASMismatch, as, w.VRF, w.AS)
	}
	return nil
}

func (f *FRR) write(ctx context.Context, v *vty, leak Leak, running Running) error {
	f.writes.Add(1)
	if err := f.vtysh(ctx, leak.correction(running)); err != nil {
		return err
	}
	running, err := v.running(ctx)
	if err != nil {
		return err
	}
	if missing := leak.Missing(running); len(missing) > 0 {
		return fmt.Errorf("FRR did not take: %s", strings.Join(missing, "; "))
	}
	return nil
}
