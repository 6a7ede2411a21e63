package frr

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// operator is a configuration as an operator may have it, in which no neighbour
// is activated for IPv4 unicast.
const operator = `hostname cmp1
router bgp 64999
 bgp router-id 172.24.4.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor uplink peer-group
 neighbor uplink remote-as internal
 neighbor uplink password f00barZ
 neighbor br-ex interface peer-group uplink
 !
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 !
 address-family ipv6 unicast
  neighbor uplink activate
  neighbor uplink prefix-list only-host-prefixes out
  import vrf blue
 exit-address-family
exit
router bgp 65001 vrf red
 bgp router-id 192.0.2.3
 neighbor 192.0.2.4 remote-as 65002
 address-family ipv4 unicast
  redistribute kernel
  redistribute static
 exit-address-family
exit
bgp community-list standard agents seq 5 permit 64999:1
route-map tag permit 10
 set community 64999:1
exit
`

var underlayWant = Want{AS: 64999, VRF: "bgp-vrf", RouterID: addr("172.24.4.1"), Redistribute: []string{"connected"}}

func without(w Want, f func(*Want)) Want {
	f(&w)
	return w
}

func TestEnsureWritesOnceAndTouchesNothingElse(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	before := r.config()

	w := without(underlayWant, func(w *Want) { w.RouterID = netip.Addr{} })
	outcome := r.ensure(f, w)
	if !outcome.Wrote || outcome.AS != 64999 || outcome.RouterID != addr("172.24.4.1") || len(outcome.Missing) == 0 {
		t.Errorf("first: %+v", outcome)
	}
	r.complete(leaks["underlay.conf"])
	after := r.config()
	if d := cmp.Diff(before, withoutLeak(after)); d != "" {
		t.Errorf("what is not the agent's has changed (-before +after):\n%s", d)
	}

	outcome = r.ensure(f, w)
	if outcome.Wrote || len(outcome.Missing) > 0 || f.Writes() != 1 {
		t.Errorf("second: %+v, %d writes", outcome, f.Writes())
	}
	if r.config() != after {
		t.Error("the second time changed the configuration")
	}
}

const leakedBlock = `router bgp 64999 vrf bgp-vrf
 bgp router-id 172.24.4.1
 !
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 !
 address-family ipv6 unicast
  redistribute connected
 exit-address-family
exit
!
`

// withoutLeak takes the leak out of a running configuration.
func withoutLeak(config string) string {
	return strings.ReplaceAll(strings.Replace(config, leakedBlock, "", 1), "  import vrf bgp-vrf\n", "")
}

func TestEnsureRestoresWhatIsDeleted(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	r.ensure(f, underlayWant)
	for _, c := range []struct {
		name    string
		lines   []string
		missing []string
	}{
		{"import", []string{"router bgp 64999", "address-family ipv4 unicast", "no import vrf bgp-vrf"},
			[]string{"router bgp 64999 / address-family ipv4 unicast / import vrf bgp-vrf"}},
		{"source", []string{"router bgp 64999 vrf bgp-vrf", "address-family ipv6 unicast", "no redistribute connected"},
			[]string{"router bgp 64999 vrf bgp-vrf / address-family ipv6 unicast / redistribute connected"}},
		{"router-id", []string{"router bgp 64999 vrf bgp-vrf", "bgp router-id 192.0.2.99"},
			[]string{"router bgp 64999 vrf bgp-vrf / bgp router-id 172.24.4.1"}},
		{"foreign source", []string{"router bgp 64999 vrf bgp-vrf", "address-family ipv4 unicast", "redistribute kernel"},
			[]string{"router bgp 64999 vrf bgp-vrf / address-family ipv4 unicast / no redistribute kernel"}},
	} {
		r.configure(c.lines...)
		outcome := r.ensure(f, underlayWant)
		if !outcome.Wrote || !slices.Equal(outcome.Missing, c.missing) {
			t.Errorf("%s: %+v, want missing %q", c.name, outcome, c.missing)
		}
		r.complete(leaks["underlay.conf"])
	}
}

func TestEnsureFollowsTheAdvertisementMethod(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	for _, sources := range [][]string{{"connected", "kernel"}, {"connected"}, {"kernel"}, {"kernel", "connected"}} {
		r.ensure(f, without(underlayWant, func(w *Want) { w.Redistribute = sources }))
		r.complete(Leak{64999, "bgp-vrf", addr("172.24.4.1"), sources})
	}
}

func TestRouterID(t *testing.T) {
	r := startRouter(t, "")
	f := r.frr(patience)
	automatic := without(underlayWant, func(w *Want) { w.RouterID = netip.Addr{} })
	expectUnknown := func(when string) {
		t.Helper()
		if outcome, err := f.Ensure(t.Context(), automatic); !errors.Is(err, ErrUnknownRouterID) || outcome.Wrote {
			t.Errorf("%s: %+v, %v", when, outcome, err)
		}
		if id, known, err := f.RouterID(t.Context()); known || err != nil {
			t.Errorf("%s: router-id %v, %v, %v", when, id, known, err)
		}
	}
	expectUnknown("no instance")
	r.configure("router bgp 65001 vrf red", "bgp router-id 192.0.2.3")
	expectUnknown("another VRF's instance")
	r.configure("router bgp 64999")
	expectUnknown("0.0.0.0")

	for _, id := range []string{"172.24.4.1", "172.24.4.2"} {
		r.configure("router bgp 64999", "bgp router-id "+id)
		if got, known, err := f.RouterID(t.Context()); got != addr(id) || !known || err != nil {
			t.Errorf("router-id %v, %v, %v, want %s", got, known, err, id)
		}
		if outcome := r.ensure(f, automatic); !outcome.Wrote || outcome.RouterID != addr(id) {
			t.Errorf("%s: %+v", id, outcome)
		}
		r.complete(Leak{64999, "bgp-vrf", addr(id), []string{"connected"}})
	}
	if outcome := r.ensure(f, without(underlayWant, func(w *Want) { w.RouterID = addr("192.0.2.1") })); !outcome.Wrote {
		t.Errorf("configured router-id: %+v", outcome)
	}
	r.complete(Leak{64999, "bgp-vrf", addr("192.0.2.1"), []string{"connected"}})
}

func TestConfiguredRouterIDMakesTheInstance(t *testing.T) {
	r := startRouter(t, "")
	f := r.frr(patience)
	if outcome := r.ensure(f, underlayWant); !outcome.Wrote || outcome.AS != 0 {
		t.Errorf("%+v", outcome)
	}
	r.complete(leaks["underlay.conf"])
}

func TestOtherASIsLeftAlone(t *testing.T) {
	for name, config := range map[string]string{
		"router bgp 65001, bgp_AS is 64999":             "router bgp 65001\n bgp router-id 172.24.4.1\n",
		"router bgp 65001 vrf bgp-vrf, bgp_AS is 64999": "router bgp 64999\nrouter bgp 65001 vrf bgp-vrf\n",
	} {
		r := startRouter(t, config)
		f := r.frr(patience)
		before := r.config()
		outcome, err := f.Ensure(t.Context(), underlayWant)
		if !errors.Is(err, ErrASMismatch) || !strings.Contains(err.Error(), name) || outcome.Wrote || f.Writes() != 0 {
			t.Errorf("%s: %+v, %v", name, outcome, err)
		}
		if r.config() != before {
			t.Errorf("%s: the configuration changed", name)
		}
	}
}

func TestDryRunOnlyLooks(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	before := r.config()
	outcome := r.ensure(f, without(underlayWant, func(w *Want) { w.DryRun = true }))
	if outcome.Wrote || len(outcome.Missing) == 0 || f.Writes() != 0 || r.config() != before {
		t.Errorf("%+v", outcome)
	}
}

func TestRefusedLinesAreReported(t *testing.T) {
	r := startRouter(t, operator)
	t.Setenv("TMPDIR", r.dir)
	_, err := r.frr(patience).Ensure(t.Context(), without(underlayWant, func(w *Want) { w.Redistribute = []string{"connected", "nonsense"} }))
	if err == nil || !strings.Contains(err.Error(), "redistribute nonsense") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(r.path("ovn-bgp-agent-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatFRRDidNotTakeIsReported(t *testing.T) {
	r := startRouter(t, operator)
	f := r.frr(patience)
	f.config.Vtysh = script(t, "exit 0")
	_, err := f.Ensure(t.Context(), underlayWant)
	if err == nil || !strings.Contains(err.Error(), "FRR did not take: router bgp 64999 / address-family ipv4 unicast / import vrf bgp-vrf;") {
		t.Errorf("got %v", err)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "vtysh")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestVtyshIsKilledWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child holds the fifo open as long as it lives.
	f := New(Config{VtyDir: dir, Vtysh: script(t, "sleep 1000 3>"+fifo+" & wait"), Timeout: 300 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	eof := make(chan error, 1)
	go func() { _, err := os.ReadFile(fifo); eof <- err }()
	started := time.Now()
	if err := f.vtysh(t.Context(), "router bgp 64999\n"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	select {
	case err := <-eof:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("vtysh's child is alive")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "ovn-bgp-agent-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestVtyshGetsAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	f := New(Config{VtyDir: "/vty", Timeout: patience, Log: slog.New(slog.DiscardHandler),
		Vtysh: script(t, `echo "$1 $2 $3" >`+dir+`/arguments; stat -c %a "$4" >`+dir+`/mode; cat "$4" >`+dir+`/text`)})
	if err := f.vtysh(t.Context(), "router bgp 64999\n"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"arguments": "--vty_socket /vty/ -f\n", "mode": "600\n", "text": "router bgp 64999\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", file, got, err, want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	const timeout = 300 * time.Millisecond
	r := startRouter(t, operator)
	f := r.frr(timeout)
	expect := func(when string) {
		t.Helper()
		started := time.Now()
		if _, err := f.Ensure(t.Context(), underlayWant); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "bgpd") {
			t.Errorf("%s: %v", when, err)
		}
		if took := time.Since(started); took > timeout+2*time.Second {
			t.Errorf("%s: the error took %v", when, took)
		}
	}
	r.signal("bgpd", syscall.SIGSTOP)
	expect("stopped")
	r.signal("bgpd", syscall.SIGCONT)
	eventually(t, "bgpd answers again", func() bool { _, err := f.Running(t.Context()); return err == nil })
	r.kill("bgpd")
	expect("killed")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Running(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
}

func TestContextEndsARead(t *testing.T) {
	r := startRouter(t, operator)
	r.signal("bgpd", syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, err := r.frr(time.Minute).Running(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(started); took > patience {
		t.Errorf("took %v", took)
	}
}
