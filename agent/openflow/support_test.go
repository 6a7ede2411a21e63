package openflow

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ovn-bgp-agent/agent/node"
)

const schema = "/usr/share/openvswitch/vswitch.ovsschema"

// vswitch is a real Open vSwitch with its own run folder and database, whose
// devices live in a private network namespace.
type vswitch struct {
	t      testing.TB
	dir    string
	daemon *exec.Cmd // ovs-vswitchd
}

func startVswitch(t testing.TB) *vswitch {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("running Open vSwitch in a network namespace needs root")
	}
	for _, program := range []string{"ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("Open vSwitch is not installed: %v", err)
		}
	}
	// Socket paths are limited to 108 bytes, so t.TempDir is too long.
	dir, err := os.MkdirTemp("", "ovs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	v := &vswitch{t: t, dir: dir}
	v.run("ovsdb-tool", "create", v.path("conf.db"), schema)
	v.daemonise("ovsdb-server", v.path("conf.db"), "--remote=punix:"+v.path("db.sock"), "--unixctl="+v.path("db.ctl"))
	v.await("db.sock")
	v.vsctl("--no-wait", "init")
	v.start()
	return v
}

func (v *vswitch) path(name string) string { return filepath.Join(v.dir, name) }

// start starts ovs-vswitchd.
func (v *vswitch) start() {
	v.t.Helper()
	v.daemon = v.daemonise("ovs-vswitchd", "unix:"+v.path("db.sock"), "--unixctl="+v.path("vswitchd.ctl"))
}

// kill ends ovs-vswitchd without giving it a chance to clean up.
func (v *vswitch) kill() {
	_ = v.daemon.Process.Kill()
	_ = v.daemon.Wait()
}

func (v *vswitch) signal(s syscall.Signal) {
	v.t.Helper()
	if err := v.daemon.Process.Signal(s); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vswitch) command(name string, arguments ...string) *exec.Cmd {
	c := exec.Command(name, arguments...)
	c.Env = append(os.Environ(), "OVS_RUNDIR="+v.dir, "OVS_LOGDIR="+v.dir, "OVS_DBDIR="+v.dir, "OVS_SYSCONFDIR="+v.dir)
	return c
}

func (v *vswitch) daemonise(name string, arguments ...string) *exec.Cmd {
	v.t.Helper()
	c := v.command(name, append(arguments, "-vconsole:off")...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

func (v *vswitch) run(name string, arguments ...string) string {
	v.t.Helper()
	out, err := v.command(name, arguments...).CombinedOutput()
	if err != nil {
		v.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

func (v *vswitch) vsctl(arguments ...string) {
	v.t.Helper()
	v.run("ovs-vsctl", append([]string{"--db=unix:" + v.path("db.sock"), "--timeout=20"}, arguments...)...)
}

// addBridge makes a bridge of the userspace datapath and waits for its socket.
func (v *vswitch) addBridge(name string, settings ...string) {
	v.t.Helper()
	v.vsctl(append([]string{"--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev"}, settings...)...)
	v.await(name + ".mgmt")
}

func (v *vswitch) await(socket string) {
	v.t.Helper()
	eventually(v.t, socket+" exists", func() bool {
		_, err := os.Stat(v.path(socket))
		return err == nil
	})
}

func (v *vswitch) ofctl(command, bridge string, arguments ...string) string {
	v.t.Helper()
	return v.run("ovs-ofctl", append([]string{command, "unix:" + v.path(bridge+".mgmt")}, arguments...)...)
}

var counters = regexp.MustCompile(`duration=\S+ |n_packets=\d+, |n_bytes=\d+, |idle_age=\d+, |hard_age=\d+, `)

// flows is what ovs-ofctl dump-flows prints, without counters, one line a flow.
func (v *vswitch) flows(bridge string, arguments ...string) string {
	v.t.Helper()
	var lines []string
	for line := range strings.Lines(v.ofctl("dump-flows", bridge, arguments...)) {
		if strings.Contains(line, "cookie=") {
			lines = append(lines, counters.ReplaceAllString(strings.TrimSpace(line), ""))
		}
	}
	return strings.Join(lines, "\n")
}

// switches returns the object under test, and the bridges that it lost.
func (v *vswitch) switches(timeout time.Duration) (*Switches, <-chan string) {
	lost := make(chan string, 100)
	s := New(Config{
		RunDir: v.dir, Timeout: timeout, Log: slog.New(slog.DiscardHandler),
		Lost: func(bridge string) { lost <- bridge },
	})
	v.t.Cleanup(s.Close)
	return s, lost
}

func apply(t *testing.T, s *Switches, steps ...node.Step) {
	t.Helper()
	for _, step := range steps {
		if err := s.Apply(context.Background(), step); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, s *Switches, bridges ...string) node.State {
	t.Helper()
	state, failed := s.Read(context.Background(), bridges)
	if len(failed) > 0 {
		t.Fatal(failed)
	}
	return state
}

func makeTweak(bridge string, ofport int, v6 bool, mac string) node.Step {
	key, actions := Tweak(bridge, ofport, v6, mac)
	return node.Step{Op: node.Make, Key: key, Value: actions}
}

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
