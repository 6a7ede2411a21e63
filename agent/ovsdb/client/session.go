package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// session is one connection, from the first request to its loss. One goroutine
// runs it.
type session struct {
	*wire
	timeout  time.Duration
	pulse    pulse
	lastID   int
	monitors map[string]*monitor // by database, which is also the monitor's id
	barriers chan barrier
	waiting  map[int]barrier // by the id of their echo
	ended    chan struct{}
}

// barrier is one call of Client.Barrier.
type barrier chan struct{}

func newSession(w *wire, timeout, probe time.Duration) *session {
	return &session{
		wire: w, timeout: timeout, pulse: pulse{probe: probe},
		monitors: map[string]*monitor{},
		barriers: make(chan barrier), waiting: map[int]barrier{}, ended: make(chan struct{}),
	}
}

func (s *session) close() {
	close(s.ended)
	s.wire.close()
}

// schema asks for a database's schema, which a live server answers at once.
func (s *session) schema(ctx context.Context, database string) (schema, error) {
	raw, err := s.call(ctx, s.timeout, "get_schema", []any{database})
	if err != nil {
		return nil, err
	}
	return parseSchema(raw)
}

// monitor downloads what m asks for. From then on its notifications are applied.
func (s *session) monitor(ctx context.Context, timeout time.Duration, m *monitor, known schema) error {
	s.monitors[m.database] = m
	result, err := s.call(ctx, timeout, "monitor_cond", m.request())
	var refused *requestError
	if errors.As(err, &refused) && refused.unknownMethod() {
		m.filterHere(known)
		result, err = s.call(ctx, timeout, "monitor", m.request())
	}
	if err != nil {
		return err
	}
	if err := m.start(result); err != nil {
		return fmt.Errorf("download: %w", err)
	}
	return nil
}

// follow applies notifications until the connection is lost.
func (s *session) follow(ctx context.Context) error {
	for {
		m, err := s.next(ctx, time.Time{})
		if err != nil {
			return err
		}
		if err := s.handle(m); err != nil {
			return err
		}
	}
}

// call sends a request and returns its result; what comes before the reply is
// handled in order. A timeout of 0 leaves it to the pulse to give up.
func (s *session) call(ctx context.Context, timeout time.Duration, method string, params any) (json.RawMessage, error) {
	id, err := s.ask(method, params)
	if err != nil {
		return nil, err
	}
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	for {
		m, err := s.next(ctx, deadline)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if !m.answers(id) {
			if err := s.handle(m); err != nil {
				return nil, err
			}
			continue
		}
		if !null(m.Error) {
			return nil, &requestError{method, string(m.Error)}
		}
		return m.Result, nil
	}
}

func (s *session) ask(method string, params any) (id int, err error) {
	s.lastID++
	return s.lastID, s.request(s.lastID, method, params)
}

// handle takes a notification, or a reply that nobody waits for in call.
func (s *session) handle(m message) error {
	if m.isReply() {
		for id, b := range s.waiting {
			if m.answers(id) {
				close(b)
				delete(s.waiting, id)
			}
		}
		return nil
	}
	switch *m.Method {
	case "update", "update2":
		replica, params, err := s.subject(m)
		if replica == nil || err != nil {
			return err
		}
		if len(params) != 2 {
			return fmt.Errorf("malformed message: %s with %d parameters", *m.Method, len(params))
		}
		return replica.notify(params[1])
	case "monitor_canceled":
		replica, _, err := s.subject(m)
		if replica != nil {
			return errors.New("the server canceled the monitor")
		}
		return err
	}
	return nil
}

// subject is the monitor that a notification is about, if it is one of ours, and
// the notification's parameters.
func (s *session) subject(m message) (*monitor, []json.RawMessage, error) {
	var params []json.RawMessage
	if err := json.Unmarshal(m.Params, &params); err != nil || len(params) == 0 {
		return nil, nil, fmt.Errorf("malformed message: %s without parameters", *m.Method)
	}
	var id string
	if json.Unmarshal(params[0], &id) != nil {
		return nil, params, nil
	}
	return s.monitors[id], params, nil
}

// next waits for a message. Meanwhile it serves barriers and watches the pulse.
// It fails when the connection is lost, nothing is heard until the deadline (if
// there is one), the server is found dead, or ctx ends.
func (s *session) next(ctx context.Context, deadline time.Time) (message, error) {
	for {
		select {
		case <-ctx.Done():
			return message{}, ctx.Err()
		case b := <-s.barriers:
			if err := s.fence(b); err != nil {
				return message{}, err
			}
		default:
		}
		m, ok, err := s.inbox.take()
		if ok || err != nil {
			return m, err
		}
		if err := s.wait(ctx, deadline); err != nil {
			return message{}, err
		}
	}
}

// wait returns when there may be something to do.
func (s *session) wait(ctx context.Context, deadline time.Time) error {
	now := time.Now()
	wait, err := s.feelPulse(now)
	if err != nil {
		return err
	}
	if !deadline.IsZero() {
		if now.After(deadline) {
			return errors.New("no answer in time")
		}
		wait = min(wait, deadline.Sub(now))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.inbox.arrived:
	case b := <-s.barriers:
		return s.fence(b)
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func (s *session) feelPulse(now time.Time) (time.Duration, error) {
	verdict, wait := s.pulse.judge(now, s.lastHeard())
	switch verdict {
	case dead:
		return 0, fmt.Errorf("the server is silent: nothing came for %s, nor within %s of an echo request", s.pulse.probe, s.pulse.probe)
	case ask:
		if _, err := s.ask("echo", []any{}); err != nil {
			return 0, err
		}
	}
	return wait, nil
}

// fence sends the echo that a barrier waits for.
func (s *session) fence(b barrier) error {
	id, err := s.ask("echo", []any{})
	if err != nil {
		return err
	}
	s.waiting[id] = b
	return nil
}
