package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	frrPrograms = "/usr/lib/frr"
	frrConfig   = "/etc/frr/frr.conf"
	// readyWithin bounds the start of one daemon; a loaded machine's guest has been seen to need twenty seconds.
	readyWithin = 60 * time.Second
	// readyPoll is how often a daemon's socket is tried meanwhile.
	readyPoll = 20 * time.Millisecond
)

// StartFRR starts FRR's daemons on their default paths, as Debian's service does, and loads conf as the integrated
// configuration (/etc/frr/frr.conf). Zebra comes first whether it is named or not; without names bgpd is started too. It returns
// when the configuration has been loaded.
func (n *Node) StartFRR(ctx context.Context, conf string, daemons ...string) error {
	if err := n.startFRR(ctx, conf, daemons); err != nil {
		return fmt.Errorf("node %s: FRR: %w", n.config.Name, err)
	}
	return nil
}

func (n *Node) startFRR(ctx context.Context, conf string, daemons []string) error {
	if len(daemons) == 0 {
		daemons = []string{"bgpd"}
	}
	if err := n.Do(func() error { return writeFRRConfig(conf) }); err != nil {
		return err
	}
	daemons = slices.DeleteFunc(slices.Clone(daemons), func(d string) bool { return d == "zebra" || d == "mgmtd" })
	if err := n.startFRRDaemon(ctx, "zebra"); err != nil {
		return err
	}
	// Since FRR 9 parts of the configuration go through mgmtd, which takes its place between zebra and the rest.
	if _, err := os.Stat(filepath.Join(frrPrograms, "mgmtd")); err == nil {
		daemons = append([]string{"mgmtd"}, daemons...)
	}
	for _, d := range daemons {
		if err := n.startFRRDaemon(ctx, d); err != nil {
			return err
		}
	}
	return n.loadFRR(ctx)
}

// writeFRRConfig runs in the node's mount namespace.
func writeFRRConfig(conf string) error {
	uid, gid := ids("frr")
	if err := os.Chown(filepath.Dir(frrConfig), uid, gid); err != nil {
		return err
	}
	for path, text := range map[string]string{
		frrConfig:             conf,
		"/etc/frr/vtysh.conf": "service integrated-vtysh-config\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			return err
		}
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// frrArguments are those of Debian's /etc/frr/daemons.
func frrArguments(daemon string) []string {
	args := []string{filepath.Join(frrPrograms, daemon), "-A", "127.0.0.1", "--log", "stdout"}
	if daemon == "zebra" {
		args = append(args, "-s", "90000000")
	}
	return args
}

func (n *Node) startFRRDaemon(ctx context.Context, daemon string) error {
	p, err := n.Start(ctx, ProcessConfig{Name: daemon, Args: frrArguments(daemon)})
	if err != nil {
		return err
	}
	return n.awaitSocket(ctx, p, "/run/frr/"+daemon+".vty")
}

// loadFRR gives each running daemon its part of the integrated configuration. A line that is not accepted is an error.
func (n *Node) loadFRR(ctx context.Context, args ...string) error {
	_, err := n.Run(ctx, "vtysh", append([]string{"-b"}, args...)...)
	return err
}

// FRR is the process of an FRR daemon, nil if it has not been started.
func (n *Node) FRR(daemon string) *Process {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.processes[daemon]
}

// RestartFRR kills an FRR daemon if it runs and starts it again; with reload it is given /etc/frr/frr.conf, as watchfrr does,
// otherwise it stays empty.
func (n *Node) RestartFRR(ctx context.Context, daemon string, reload bool) error {
	err := n.restartFRR(ctx, daemon, reload)
	if err != nil {
		return fmt.Errorf("node %s: restart %s: %w", n.config.Name, daemon, err)
	}
	return nil
}

func (n *Node) restartFRR(ctx context.Context, daemon string, reload bool) error {
	p := n.FRR(daemon)
	if p == nil {
		return errors.New("it has not been started")
	}
	if err := p.Kill(); err != nil {
		return err
	}
	if err := n.startFRRDaemon(ctx, daemon); err != nil {
		return err
	}
	if !reload {
		return nil
	}
	return n.loadFRR(ctx, "-d", daemon)
}

// awaitSocket waits until p listens on a unix socket. A file left by its killed predecessor refuses connections, so that only a
// connection counts.
func (n *Node) awaitSocket(ctx context.Context, p *Process, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, fmt.Errorf("%s does not listen on %s after %v", p.Name(), path, readyWithin))
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := n.Do(func() error { return dial(path) })
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED) {
			return fmt.Errorf("connect to %s: %w", path, err)
		}
		select {
		case <-p.Done():
			return p.crash()
		case <-ctx.Done():
			return fmt.Errorf("%w; end of %s:\n%s", context.Cause(ctx), p.LogFile(), tailOf(p.LogFile()))
		case <-tick.C:
		}
	}
}

func dial(path string) error {
	c, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	return c.Close()
}
