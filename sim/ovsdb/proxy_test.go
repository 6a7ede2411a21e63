package ovsdb

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// echoBackend answers what it is sent.
func echoBackend(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // ends with the connection
			}()
		}
	}()
	return "tcp:" + l.Addr().String()
}

func startProxy(t *testing.T) *Proxy {
	t.Helper()
	p, err := NewProxy("tcp:127.0.0.1:0", echoBackend(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.Endpoint(), "tcp:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return c
}

func exchange(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	expect(t, c, text)
}

func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func TestProxyCuts(t *testing.T) {
	p := startProxy(t)
	c := dial(t, p)
	exchange(t, c, "hello")
	p.Cut()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a cut connection gives %v, want a reset", err)
	}
	exchange(t, dial(t, p), "again")
	eventually(t, "only the new connection is carried", func() bool { return p.Connections() == 1 })
}

func TestProxyFreezes(t *testing.T) {
	p := startProxy(t)
	c := dial(t, p)
	exchange(t, c, "a")
	p.Freeze()
	p.Freeze()
	if _, err := c.Write([]byte("held")); err != nil {
		t.Fatal(err)
	}
	late := dial(t, p)
	if _, err := late.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("frozen, but read gave %v", err)
	}
	if err := c.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	p.Thaw()
	p.Thaw()
	expect(t, c, "held")
	expect(t, late, "late")
}

func TestProxyDelays(t *testing.T) {
	p := startProxy(t)
	c := dial(t, p)
	exchange(t, c, "a")
	const delay = 40 * time.Millisecond
	p.Delay(delay)
	start := time.Now()
	exchange(t, c, "b")
	if took := time.Since(start); took < 2*delay {
		t.Errorf("there and back took %v, less than twice %v", took, delay)
	}
	p.Delay(0)
	exchange(t, c, "c")
}

func TestProxyRefuses(t *testing.T) {
	p := startProxy(t)
	c := dial(t, p)
	exchange(t, c, "a")
	if err := p.Refuse(); err != nil {
		t.Fatal(err)
	}
	if err := p.Refuse(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(p.Endpoint(), "tcp:")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial gives %v, want connection refused", err)
	}
	exchange(t, c, "still there")
	if err := p.Accept(); err != nil {
		t.Fatal(err)
	}
	exchange(t, dial(t, p), "back")
}

func TestProxyCutsAfterBytes(t *testing.T) {
	p := startProxy(t)
	c := dial(t, p)
	exchange(t, c, "not counted")
	p.CutAfter(7)
	if _, err := c.Write([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) && err != nil {
		t.Errorf("read gives %v", err)
	}
	// A reset may discard what has not been read yet.
	if !strings.HasPrefix("0123456", string(got)) {
		t.Errorf("got %q, more than 7 bytes", got)
	}
	exchange(t, dial(t, p), "0123456789")
}

func TestProxyWithoutBackend(t *testing.T) {
	p, err := NewProxy("tcp:127.0.0.1:0", "unix:/nonexistent")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if c, err := net.Dial("tcp", strings.TrimPrefix(p.Endpoint(), "tcp:")); err == nil { // else reset at once
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read gives %v", err)
		}
	}
	if _, err := NewProxy("tcp:127.0.0.1:0", "nonsense"); err == nil {
		t.Error("a nonsense backend was accepted")
	}
}

func TestHalfADownloadThenAWholeOne(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	for _, name := range []string{"a", "b", "c"} {
		addSwitch(t, m, name)
	}
	p, err := NewProxy("tcp:127.0.0.1:0", m.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.CutAfter(40)
	s := newSession(t, p.Endpoint())
	if _, err := s.call(context.Background(), "monitor_cond", "OVN_Northbound", "m", switchNames); err == nil {
		t.Error("the download was complete")
	}
	reply := newSession(t, p.Endpoint()).must("monitor_cond", "OVN_Northbound", "m", switchNames)
	if n := strings.Count(string(reply), "initial"); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}
