package frr

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// pipeTo returns a vty whose daemon reads a command and then writes pieces one by
// one, each of which is received on its own, and hangs up if it is told to.
func pipeTo(t *testing.T, timeout time.Duration, hangUp bool, pieces ...string) *vty {
	here, there := net.Pipe()
	t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
	go func() {
		if _, err := bufio.NewReader(there).ReadString(0); err != nil {
			return
		}
		for _, piece := range pieces {
			if _, err := there.Write([]byte(piece)); err != nil {
				return
			}
		}
		if hangUp {
			_ = there.Close()
		}
	}()
	return &vty{daemon: "bgpd", stream: here, timeout: timeout}
}

func TestAnswerComesInPieces(t *testing.T) {
	for _, pieces := range [][]string{
		{"text\n\x00\x00\x00\x00"},
		{"text\n", "\x00", "\x00", "\x00", "\x00"},
		{"te", "xt\n\x00\x00\x00", "\x00"},
	} {
		v := pipeTo(t, patience, false, pieces...)
		if text, err := v.run(t.Context(), "show version"); err != nil || text != "text\n" {
			t.Errorf("%q: got %q, %v", pieces, text, err)
		}
		if len(v.buffer) > 0 {
			t.Errorf("%q: left over: %q", pieces, v.buffer)
		}
	}
}

func TestRefusedCommand(t *testing.T) {
	v := pipeTo(t, patience, false, "% [BGP] Unknown command: x\n\x00\x00\x00\x02")
	_, err := v.run(t.Context(), "x")
	if err == nil || errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), `code 2: % [BGP] Unknown command: x`) {
		t.Errorf("got %v", err)
	}
}

func TestAnswerThatStops(t *testing.T) {
	for name, v := range map[string]*vty{
		"stays away":        pipeTo(t, 100*time.Millisecond, false),
		"stops half-way":    pipeTo(t, 100*time.Millisecond, false, "text\n\x00\x00\x00"),
		"ends half-way":     pipeTo(t, patience, true, "text\n"),
		"never came at all": pipeTo(t, patience, true),
	} {
		if _, err := v.run(t.Context(), "show version"); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
