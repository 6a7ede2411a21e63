package kernel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// TestInterruptedDump runs in virtual time.
func TestInterruptedDump(t *testing.T) {
	for name, test := range map[string]struct {
		interruptions int // -1: for ever
		then          error
		limit         time.Duration // 0: none
		want          []byte
		err           error
		after         time.Duration
	}{
		"complete":          {0, nil, 0, []byte{1, 2}, nil, 0},
		"interrupted":       {1, nil, 0, []byte{1, 2}, nil, 20 * time.Millisecond},
		"interrupted often": {8, nil, 0, []byte{1, 2}, nil, (20+40+80+160+320+640+1000)*time.Millisecond + time.Second},
		"always":            {-1, nil, 0, nil, nl.ErrDumpInterrupted, (20+40+80+160+320+640)*time.Millisecond + 6*time.Second},
		"refused":           {0, unix.EPERM, 0, nil, unix.EPERM, 0},
		"refused later":     {2, unix.EPERM, 0, nil, unix.EPERM, 60 * time.Millisecond},
		"out of time":       {-1, nil, 100 * time.Millisecond, nil, context.DeadlineExceeded, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := test.interruptions
				c := &conn{log: slog.New(slog.DiscardHandler), execute: func(_ *nl.NetlinkRequest, _ uint16, each func([]byte) bool) error {
					each([]byte{1})
					if left != 0 {
						left--
						return nl.ErrDumpInterrupted
					}
					each([]byte{99})
					each([]byte{2})
					return test.then
				}}
				ctx := t.Context()
				if test.limit != 0 {
					limited, cancel := context.WithTimeout(ctx, test.limit)
					defer cancel()
					ctx = limited
				}
				start := time.Now()
				got, err := dump(ctx, c, request(unix.RTM_GETLINK, 0), unix.RTM_NEWLINK, func(m []byte) (byte, bool) { return m[0], m[0] != 99 })
				if !errors.Is(err, test.err) || !slices.Equal(got, test.want) {
					t.Errorf("got %v, %v; want %v, %v", got, err, test.want, test.err)
				}
				if d := time.Since(start); d != test.after {
					t.Errorf("after %s, want %s", d, test.after)
				}
			})
		})
	}
}

func TestNamedError(t *testing.T) {
	err := named(unix.ENETUNREACH)
	if err.Error() != "ENETUNREACH: network is unreachable" || !errors.Is(err, unix.ENETUNREACH) {
		t.Error(err)
	}
	if plain := errors.New("no errno"); named(plain) != plain || named(nil) != nil {
		t.Error("an error without errno was changed")
	}
}

// FuzzDecode: no message makes a decoder panic.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, 40))
	f.Add([]byte{2, 32, 0, 0, 201, 0, 0, 1, 0, 0, 0, 0, 8, 0, 1, 0, 10, 0, 0, 1, 4, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, message []byte) {
		decodeLink(message)
		decodeAddress(message)
		decodeRule(message)
		decodeRoute(message)
		decodeNeighbour(message)
	})
}
