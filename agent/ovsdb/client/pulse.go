package client

import "time"

// pulse judges a connection by its silence.
type pulse struct {
	probe time.Duration
	asked time.Time // when the last probe went out
}

type verdict int

const (
	alive verdict = iota
	ask           // nothing was heard for the probe interval: send an echo
	dead          // nor for another one after that
)

// judge says what the silence since heard means, and when to judge again.
func (p *pulse) judge(now, heard time.Time) (verdict, time.Duration) {
	if p.asked.After(heard) {
		if wait := p.asked.Add(p.probe).Sub(now); wait > 0 {
			return alive, wait
		}
		return dead, 0
	}
	if wait := heard.Add(p.probe).Sub(now); wait > 0 {
		return alive, wait
	}
	p.asked = now
	return ask, p.probe
}
