package agent

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ovn-bgp-agent/agent/frr"
	"ovn-bgp-agent/agent/status"
)

// leakRetry is the wait before FRR is looked at again after it was not as it
// should be; FRR has no way to tell when that changes.
const leakRetry = time.Second

// leakKeeper keeps the leak of the announcing VRF into FRR's default instance
// (side-effects.md §4): at start, as soon as bgpd is back after a restart, every
// frr_reconcile_interval and when asked to.
type leakKeeper struct {
	settings Settings
	frr      FRR
	log      *slog.Logger
	requests chan chan error

	mu    sync.Mutex
	state status.FRR
}

func newLeakKeeper(s Settings, f FRR, log *slog.Logger) *leakKeeper {
	return &leakKeeper{settings: s, frr: f, log: log, requests: make(chan chan error)}
}

// run keeps the leak until the context ends.
func (k *leakKeeper) run(ctx context.Context, inbox *inbox) {
	up := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		k.frr.Watch(ctx, func() { wake(up) }, func(err error) { k.note(frr.Outcome{}, err, inbox) })
	})
	interval := time.NewTicker(k.settings.FRRInterval)
	defer interval.Stop()
	k.log.Info("Starting VRF configuration for advertising routes")
	err := k.ensure(ctx, inbox)
	for completed := false; ; {
		if err == nil && !completed {
			completed = true
			k.log.Info("VRF configuration for advertising routes completed")
		}
		var again <-chan time.Time
		if err != nil {
			again = time.After(leakRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-up:
			err = k.ensure(ctx, inbox)
		case <-again:
			err = k.ensure(ctx, inbox)
		case <-interval.C:
			k.log.Info("Running reconciliation loop to ensure frr configuration is in place.")
			err = k.ensure(ctx, inbox)
		case answer := <-k.requests:
			err = k.ensure(ctx, inbox)
			answer <- err
		}
	}
}

func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// ensure has FRR take what it lacks; in a dry run it only looks.
func (k *leakKeeper) ensure(ctx context.Context, inbox *inbox) error {
	outcome, err := k.frr.Ensure(ctx, frr.Want{
		AS: k.settings.AS, VRF: k.settings.Names.BGPVRF, RouterID: k.settings.RouterID,
		Redistribute: []string{"connected"}, DryRun: k.settings.DryRun,
	})
	if ctx.Err() != nil {
		return nil
	}
	if outcome.Wrote {
		k.log.Info("Add VRF leak for VRF "+k.settings.Names.BGPVRF, "as", k.settings.AS, "missing", outcome.Missing, "router_id", outcome.RouterID)
	}
	k.note(outcome, err, inbox)
	return err
}

// note records FRR's condition and makes it a problem, or the end of one.
func (k *leakKeeper) note(outcome frr.Outcome, err error, inbox *inbox) {
	state := status.FRR{State: "configured", AS: k.settings.AS}
	if outcome.RouterID.IsValid() {
		state.RouterID = outcome.RouterID.String()
	}
	if err != nil {
		state.State, state.Reason = "not configured", err.Error()
	} else if !outcome.Wrote && len(outcome.Missing) > 0 {
		state.State, state.Reason = "not configured", "dry run; it lacks: "+strings.Join(outcome.Missing, ", ")
	}
	if errors.Is(err, frr.ErrUnreachable) {
		state.State = "unreachable"
	}
	k.mu.Lock()
	k.state = state
	k.mu.Unlock()
	inbox.post(func(c *core) {
		if err != nil {
			c.problems.set("frr", err.Error())
		} else {
			c.problems.clear("frr")
		}
	})
}

// request has the leak ensured now.
func (k *leakKeeper) request(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case k.requests <- answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// report is FRR's condition as of the last look.
func (k *leakKeeper) report() status.FRR {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}
