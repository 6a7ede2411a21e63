package ovsdb

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const testTimeout = 20 * time.Second

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func builtin(t *testing.T, name string, release ...string) Schema {
	t.Helper()
	s, err := BuiltinSchema(name, release...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startMemory(t *testing.T, s Schema, options ...Option) *Memory {
	t.Helper()
	m, err := NewMemory(s, "unix:"+filepath.Join(t.TempDir(), "db.sock"), quiet(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Stop() }) // the test may have stopped it
	return m
}

func startReal(t *testing.T, s Schema) *Real {
	t.Helper()
	needPrograms(t, "ovsdb-server", "ovsdb-tool")
	dir := t.TempDir()
	path := filepath.Join(dir, "test.ovsschema")
	writeFile(t, path, s.JSON())
	r, err := NewReal(testContext(t), path, "unix:"+filepath.Join(dir, "db.sock"), dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop() })
	return r
}

func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

// session is a connection that records the notifications it gets.
type session struct {
	*rpcClient
	t   *testing.T
	mu  sync.Mutex
	got []notification
}

type notification struct {
	method string
	params json.RawMessage
}

func newSession(t *testing.T, endpoint string) *session {
	t.Helper()
	s := &session{t: t}
	c, err := dialRPC(testContext(t), endpoint, func(method string, params json.RawMessage) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, notification{method, params})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.rpcClient = c
	t.Cleanup(c.close)
	return s
}

// must is a call that has to succeed.
func (s *session) must(method string, params ...any) json.RawMessage {
	s.t.Helper()
	reply, err := s.call(testContext(s.t), method, params...)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply
}

// drain is what has been notified before a fence.
func (s *session) drain() []notification {
	s.t.Helper()
	s.must("echo", "fence")
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// eventually waits for a condition with a deadline.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testTimeout); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", testTimeout, what)
		}
	}
}
