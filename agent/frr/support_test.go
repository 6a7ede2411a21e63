package frr

import (
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 10 * time.Second // for calls that are expected to succeed

// router is a real zebra and bgpd with their own folder, in private network
// namespaces.
type router struct {
	t        testing.TB
	dir      string
	uid, gid int
	daemons  map[string]*exec.Cmd
}

// startRouter starts zebra, and bgpd with a configuration.
func startRouter(t testing.TB, config string) *router {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("running FRR in a network namespace needs root")
	}
	for _, program := range []string{"/usr/lib/frr/zebra", "/usr/lib/frr/bgpd", "/usr/bin/vtysh"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("FRR is not installed: %v", err)
		}
	}
	owner, err := user.Lookup("frr")
	if err != nil {
		t.Skipf("FRR is not installed: %v", err)
	}
	r := &router{t: t, daemons: map[string]*exec.Cmd{}}
	r.uid, _ = strconv.Atoi(owner.Uid)
	r.gid, _ = strconv.Atoi(owner.Gid)
	// Socket paths are limited to 108 bytes, so t.TempDir is too long.
	if r.dir, err = os.MkdirTemp("", "frr"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(r.dir) })
	if err := os.Mkdir(r.path("vty"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("zebra.conf", "")
	r.write("bgpd.conf", config)
	for _, dir := range []string{r.dir, r.path("vty")} {
		if err := os.Chown(dir, r.uid, r.gid); err != nil {
			t.Fatal(err)
		}
	}
	r.start("zebra")
	r.start("bgpd", "-p", "0")
	return r
}

func (r *router) path(name string) string { return filepath.Join(r.dir, name) }

func (r *router) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chown(r.path(name), r.uid, r.gid); err != nil {
		r.t.Fatal(err)
	}
}

// start starts a daemon and waits until it answers.
func (r *router) start(daemon string, arguments ...string) {
	r.t.Helper()
	c := exec.Command("/usr/lib/frr/"+daemon, append(arguments,
		"-u", "frr", "-g", "frr", "-P", "0", "-f", r.path(daemon+".conf"), "-i", r.path(daemon+".pid"),
		"-z", r.path("zserv.api"), "--vty_socket", r.path("vty"))...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	r.daemons[daemon] = c
	f := r.frr(patience)
	eventually(r.t, daemon+" answers", func() bool {
		v, err := f.dial(r.t.Context(), daemon)
		if err == nil {
			v.close()
		}
		return err == nil
	})
}

func (r *router) kill(daemon string) {
	_ = r.daemons[daemon].Process.Kill()
	_ = r.daemons[daemon].Wait()
}

func (r *router) signal(daemon string, s syscall.Signal) {
	r.t.Helper()
	if err := r.daemons[daemon].Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// frr returns the object under test.
func (r *router) frr(timeout time.Duration) *FRR {
	return New(Config{VtyDir: r.path("vty"), Vtysh: "/usr/bin/vtysh", Timeout: timeout, Log: slog.New(slog.DiscardHandler)})
}

// configure has FRR execute lines, as an operator would.
func (r *router) configure(lines ...string) {
	r.t.Helper()
	if err := r.frr(patience).vtysh(r.t.Context(), strings.Join(lines, "\n")+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// config is the running configuration of all daemons.
func (r *router) config() string {
	r.t.Helper()
	out, err := exec.Command("/usr/bin/vtysh", "--vty_socket", r.path("vty")+"/", "-c", "show running-config").CombinedOutput()
	if err != nil {
		r.t.Fatalf("vtysh: %v\n%s", err, out)
	}
	return string(out)
}

func (r *router) ensure(f *FRR, w Want) Outcome {
	r.t.Helper()
	outcome, err := f.Ensure(r.t.Context(), w)
	if err != nil {
		r.t.Fatal(err)
	}
	return outcome
}

// complete checks that FRR's running configuration lacks nothing of a leak.
func (r *router) complete(l Leak) {
	r.t.Helper()
	running, err := r.frr(patience).Running(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if missing := l.Missing(running); len(missing) > 0 {
		r.t.Errorf("missing: %q", missing)
	}
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	expired := time.After(20 * time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-expired:
			t.Fatalf("not within 20 s: %s", what)
		case <-again.C:
		}
	}
}
