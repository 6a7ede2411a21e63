package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// NodeConfig describes a node.
type NodeConfig struct {
	// Name is the node's host name.
	Name string
	// Artifacts is the folder under which the node's logs go, in a sub-folder of the node's name. It must not be below a
	// folder that every node has for itself (see privateFolders).
	Artifacts string
	// Log receives what the node's own machinery has to say; nil discards it.
	Log *slog.Logger
	// RTTables is the initial text of /etc/iproute2/rt_tables; empty means the distribution's.
	RTTables string
	// NoForwarding leaves IPv4 and IPv6 forwarding as a new network namespace has it: off.
	NoForwarding bool
	// OnCrash is told, from another goroutine, of each supervised process that ended without being asked to; the error ends with
	// the tail of the process's log. Nil: it is logged as an error only.
	OnCrash func(error)
}

// Node is a machine of the testbed: network, mount, UTS and process namespace with its own /run, /etc/frr and so on, so that
// programs with default paths find only what runs on their node. Its methods may be called from several goroutines.
//
// Everything in it dies with the process that made it, however that ends: the namespaces' first process reads from a pipe of
// ours, and the kernel kills a process namespace with its first process.
type Node struct {
	config  NodeConfig
	log     *slog.Logger
	logs    string
	first   *exec.Cmd
	hold    io.Closer // the pipe that keeps first alive
	thread  *thread
	netlink *netlink.Handle
	netns   netns.NsHandle

	mutex     sync.Mutex
	closed    bool
	processes map[string]*Process
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$`)

// NewNode makes a node with its loopback up, forwarding on, reverse-path filter and IPv6 duplicate address detection off.
// It needs root (the guest's suffices).
func NewNode(ctx context.Context, c NodeConfig) (*Node, error) {
	if !hostName.MatchString(c.Name) {
		return nil, fmt.Errorf("node name %q: not a host name", c.Name)
	}
	n := &Node{config: c, log: c.Log, netns: netns.None(), processes: map[string]*Process{}}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.log = n.log.With("node", c.Name)
	if err := n.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("node %s: %w", c.Name, err), n.Close())
	}
	return n, nil
}

func (n *Node) build(ctx context.Context) error {
	logs, err := filepath.Abs(filepath.Join(n.config.Artifacts, n.config.Name))
	if err != nil {
		return fmt.Errorf("log folder: %w", err)
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("log folder: %w", err)
	}
	n.logs = logs
	if err := n.startFirst(ctx); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	if n.thread, err = enter(n.first.Process.Pid); err != nil {
		return err
	}
	if n.netns, err = netns.GetFromPid(n.first.Process.Pid); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	if n.netlink, err = netlink.NewHandleAt(n.netns); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	return n.thread.do(func() error {
		if err := unix.Sethostname([]byte(n.config.Name)); err != nil {
			return fmt.Errorf("host name: %w", err)
		}
		return errors.Join(mountPrivate(n.config.RTTables), setSysctls(!n.config.NoForwarding), n.loopbackUp())
	})
}

// firstScript is the first process. /proc shows the process namespace of who mounts it, so it is mounted here and not by our
// thread. "cat" then waits for the end of the pipe.
const firstScript = `mount --make-rprivate / && mount -t proc proc /proc && mount -t sysfs sysfs /sys && echo ready && exec cat`

func (n *Node) startFirst(ctx context.Context) error {
	cmd := exec.Command("/bin/sh", "-c", firstScript)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), markVariable+"="+runMark())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID,
		Setpgid:    true, // a Ctrl-C at the terminal is the caller's to handle
	}
	var problems strings.Builder
	cmd.Stderr = &problems
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.first, n.hold = cmd, hold
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if _, err := io.ReadFull(said, make([]byte, len("ready\n"))); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		n.first = nil
		return fmt.Errorf("first process: %w: %s", errors.Join(context.Cause(ctx), err), strings.TrimSpace(problems.String()))
	}
	return nil
}

func (n *Node) loopbackUp() error {
	lo, err := n.netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := n.netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return nil
}

// Name is the node's host name.
func (n *Node) Name() string { return n.config.Name }

// Netlink is a handle in the node's network namespace, valid until Close.
func (n *Node) Netlink() *netlink.Handle { return n.netlink }

// NetNS is the node's network namespace, valid until Close.
func (n *Node) NetNS() netns.NsHandle { return n.netns }

// Path is where the machine's other processes see the node's file p (absolute).
func (n *Node) Path(p string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", n.first.Process.Pid), p)
}

// Do runs f on a thread that is in the node's namespaces: sockets, files and programs that f opens or starts are the node's.
// It does not hold for goroutines that f starts, and f must not wait for another Do of the same node.
func (n *Node) Do(f func() error) error { return n.thread.do(f) }

// Close kills everything on the node and removes it. Calling it again does nothing.
func (n *Node) Close() error {
	n.mutex.Lock()
	if n.closed {
		n.mutex.Unlock()
		return nil
	}
	n.closed = true
	processes := make([]*Process, 0, len(n.processes))
	for _, p := range n.processes {
		processes = append(processes, p)
	}
	n.mutex.Unlock()

	if n.netlink != nil {
		n.netlink.Close()
	}
	if n.first != nil {
		// The kernel reports the first process's end only after the last of the others.
		_ = n.first.Process.Kill()
		_ = n.hold.Close()
		_ = n.first.Wait() // "killed" is what was asked for
	}
	for _, p := range processes {
		<-p.Done()
	}
	if n.thread != nil {
		n.thread.end()
	}
	if n.netns.IsOpen() {
		if err := n.netns.Close(); err != nil {
			return fmt.Errorf("node %s: close the network namespace: %w", n.config.Name, err)
		}
	}
	return nil
}
