package frr

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// watched is a running Watch.
type watched struct {
	t     testing.TB
	up    chan time.Time
	down  chan error
	end   context.CancelFunc
	ended chan struct{}
}

func watch(t testing.TB, f *FRR) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{t, make(chan time.Time, 100), make(chan error, 100), cancel, make(chan struct{})}
	go func() {
		defer close(w.ended)
		f.Watch(ctx, func() { w.up <- time.Now() }, func(err error) { w.down <- err })
	}()
	return w
}

// stop ends the Watch while the daemons run; nothing may be down.
func (w *watched) stop() {
	w.t.Helper()
	w.end()
	select {
	case <-w.ended:
	case <-time.After(patience):
		w.t.Error("Watch did not end with its context")
	}
	if len(w.down) > 0 {
		w.t.Errorf("unexpected down: %v", <-w.down)
	}
}

func (w *watched) awaitUp() time.Time {
	w.t.Helper()
	select {
	case at := <-w.up:
		return at
	case <-time.After(patience):
		w.t.Fatal("up was not called")
		return time.Time{}
	}
}

func (w *watched) awaitDown() {
	w.t.Helper()
	select {
	case err := <-w.down:
		if !errors.Is(err, ErrUnreachable) {
			w.t.Errorf("down: %v", err)
		}
	case <-time.After(patience):
		w.t.Fatal("down was not called")
	}
}

func TestWatchSeesRestarts(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	w := watch(t, f)
	defer w.stop()
	w.awaitUp()
	w.awaitUp() // bgpd and zebra
	r.ensure(f, underlayWant)

	r.kill("bgpd")
	w.awaitDown()
	r.start("bgpd", "-p", "0")
	w.awaitUp()
	if outcome := r.ensure(f, underlayWant); !outcome.Wrote {
		t.Errorf("after bgpd's restart: %+v", outcome)
	}
	r.complete(leaks["underlay.conf"])

	r.kill("zebra")
	w.awaitDown()
	r.start("zebra")
	w.awaitUp()
	if outcome := r.ensure(f, underlayWant); outcome.Wrote {
		t.Errorf("after zebra's restart: %+v", outcome)
	}
}

// TestWatchIsPrompt plays bgpd: up comes soon after its socket answers.
func TestWatchIsPrompt(t *testing.T) {
	dir := t.TempDir()
	f := New(Config{VtyDir: dir, Timeout: patience, Log: slog.New(slog.DiscardHandler)})
	w := watch(t, f)
	defer w.stop()
	for range 3 {
		listener, err := net.Listen("unix", filepath.Join(dir, "bgpd.vty"))
		if err != nil {
			t.Fatal(err)
		}
		answering := time.Now()
		stream, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		command := make([]byte, len("enable\x00"))
		if _, err := io.ReadFull(stream, command); err != nil || string(command) != "enable\x00" {
			t.Fatalf("got %q, %v", command, err)
		}
		// The end of the answer may come in pieces.
		for _, piece := range []string{"\x00", "\x00\x00", "\x00"} {
			if _, err := stream.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if took := w.awaitUp().Sub(answering); took > time.Second {
			t.Errorf("up came after %v", took)
		}
		if len(w.down) > 0 {
			t.Errorf("down without a connection: %v", <-w.down)
		}
		_ = stream.Close()
		_ = listener.Close()
		w.awaitDown()
	}
}

func BenchmarkRunning(b *testing.B) {
	r := startRouter(b, operator)
	f := r.frr(patience)
	for b.Loop() {
		if _, err := f.Running(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnsureNothing(b *testing.B) {
	r := startRouter(b, operator)
	f := r.frr(patience)
	r.ensure(f, underlayWant)
	for b.Loop() {
		r.ensure(f, underlayWant)
	}
}

func BenchmarkVtysh(b *testing.B) {
	r := startRouter(b, operator)
	for b.Loop() {
		r.configure(leaks["underlay.conf"].Config())
	}
}

func BenchmarkVtyshShow(b *testing.B) {
	r := startRouter(b, operator)
	for b.Loop() {
		r.config()
	}
}
