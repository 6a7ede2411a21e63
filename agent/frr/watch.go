package frr

import (
	"context"
	"sync"
	"time"
)

// Daemons of FRR whose restart matters.
const (
	bgpd  = "bgpd"
	zebra = "zebra"
)

// redial is the wait between two tries to reach a daemon that is away. A try that
// fails is one system call, so the wait need not grow, and a restarted daemon is
// seen at once however long it was away.
const redial = 50 * time.Millisecond

// Watch keeps a connection to bgpd and to zebra until the context ends. It calls
// up whenever one of them has been reached, the first time too: its configuration
// may be what it was at its start. It calls down when a connection has ended,
// which wraps [ErrUnreachable]. The functions are called from several goroutines
// and must not block.
func (f *FRR) Watch(ctx context.Context, up func(), down func(error)) {
	var watching sync.WaitGroup
	for _, daemon := range []string{bgpd, zebra} {
		watching.Go(func() { f.watch(ctx, daemon, up, down) })
	}
	watching.Wait()
}

func (f *FRR) watch(ctx context.Context, daemon string, up func(), down func(error)) {
	again := time.NewTicker(redial)
	defer again.Stop()
	for {
		if v, err := f.dial(ctx, daemon); err == nil {
			f.config.Log.Debug("FRR daemon reached", "daemon", daemon)
			up()
			err = v.wait(ctx)
			v.close()
			if ctx.Err() != nil {
				return
			}
			down(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
