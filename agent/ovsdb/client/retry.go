package client

import (
	"math/rand/v2"
	"time"
)

// backoff says how long to wait before the next attempt: not at all while there
// are other endpoints to try, then minimum, doubling up to maximum, each shortened
// at random by up to half so that many clients of one server do not come at once.
type backoff struct {
	minimum, maximum time.Duration
	endpoints        int
	failures         int // since the last download
	delay            time.Duration
}

// failed is the wait after a connection that did not come to a download.
func (b *backoff) failed() time.Duration {
	b.failures++
	if b.failures%b.endpoints != 0 {
		return 0
	}
	wait := max(b.delay, b.minimum)
	b.delay = min(2*wait, b.maximum)
	return shorten(wait)
}

// lost is the wait after a connection that had brought a download.
func (b *backoff) lost() time.Duration {
	b.failures, b.delay = 0, 0
	return shorten(b.minimum)
}

func shorten(d time.Duration) time.Duration { return d - rand.N(d/2+1) }

// repeatInterval is how often an error that persists is logged.
const repeatInterval = time.Minute

// repeats keeps an error from being logged with every retry.
type repeats struct{ logged map[string]time.Time }

// due tells whether to log the error now, and takes it as logged if so.
func (r *repeats) due(text string, now time.Time) bool {
	for t, at := range r.logged {
		if now.Sub(at) >= repeatInterval {
			delete(r.logged, t)
		}
	}
	if _, recent := r.logged[text]; recent {
		return false
	}
	if r.logged == nil {
		r.logged = map[string]time.Time{}
	}
	r.logged[text] = now
	return true
}

// forget makes every error news again.
func (r *repeats) forget() { r.logged = nil }
