package netns

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// guestProgram is the kernel of Debian's package user-mode-linux.
const guestProgram = "linux.uml"

//go:embed guest-init.sh
var guestInit []byte

// GuestConfig says what one guest runs, and where its traces go.
type GuestConfig struct {
	// Command is the program (looked up in the guest's PATH) and its arguments.
	Command []string
	// Env is the command's whole environment, as NAME=value; PATH, HOME and TERM have defaults.
	Env []string
	// Dir is the command's working directory; empty means "/".
	Dir string
	// Artifacts is the one folder where the guest's writes reach the host's disk (created when absent); the guest's
	// console is kept there as console.log. Empty: nothing is written.
	Artifacts string
	// Memory is the guest's memory in the kernel's syntax ("1024M", the default).
	Memory string
	// Timeout bounds boot and command together; 0 means no bound but the context's.
	Timeout time.Duration
	// Stdout and Stderr receive the command's output live and unchanged; nil discards it.
	Stdout, Stderr io.Writer
}

// RunGuest boots User-Mode Linux on the host's own file tree and runs one program in it as the guest's root.
// It works as root and as an ordinary user. Every program that the host has is there; what the guest writes is lost with it,
// but for GuestConfig.Artifacts.
//
// The result is the program's exit status (128+n when signal n ended it). An error means that there is no status: the
// guest could not be started, panicked, ran out of time or was cancelled. No process of the guest survives the return.
//
// Source: https://docs.kernel.org/virt/uml/user_mode_linux_howto_v2.html
func RunGuest(ctx context.Context, c GuestConfig) (exit int, err error) {
	if len(c.Command) == 0 {
		return 0, errors.New("guest: no command given")
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("not finished after %v", c.Timeout))
		defer cancel()
	}
	kernel, err := exec.LookPath(guestProgram)
	if err != nil {
		return 0, fmt.Errorf("guest: %w (Debian package user-mode-linux)", err)
	}
	g, err := newGuest(c)
	if err != nil {
		return 0, fmt.Errorf("guest: %w", err)
	}
	defer func() { err = errors.Join(err, g.remove()) }()
	exit, err = g.run(ctx, kernel)
	if err != nil {
		return 0, fmt.Errorf("guest: %w", err)
	}
	return exit, nil
}

// guest is one prepared run: its folder on the host and its three output streams.
type guest struct {
	config  GuestConfig
	dir     string // init, command, uml_dir
	memory  string // folder of the memory file
	mark    string
	console *console
	stdout  *markedStream
	stderr  *markedStream
}

func newGuest(c GuestConfig) (*guest, error) {
	memory, err := memoryFolder(&c)
	if err != nil {
		return nil, err
	}
	if c.Artifacts != "" {
		if c.Artifacts, err = filepath.Abs(c.Artifacts); err != nil {
			return nil, fmt.Errorf("artifacts folder: %w", err)
		}
		if strings.ContainsAny(c.Artifacts, " \t\n\",") {
			return nil, fmt.Errorf("artifacts folder %q: blanks, quotes and commas cannot be passed to the guest", c.Artifacts)
		}
		if err := os.MkdirAll(c.Artifacts, 0o755); err != nil {
			return nil, fmt.Errorf("artifacts folder: %w", err)
		}
	}
	mark, err := newMark()
	if err != nil {
		return nil, err
	}
	dir, err := makeRunFolder()
	if err != nil {
		return nil, err
	}
	g := &guest{config: c, dir: dir, memory: memory, mark: mark,
		stdout: &markedStream{to: orDiscard(c.Stdout), mark: mark},
		stderr: &markedStream{to: orDiscard(c.Stderr), mark: mark}}
	if g.console, err = newConsole(c.Artifacts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	for name, text := range map[string][]byte{"init": guestInit, "command": commandScript(c)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return nil, errors.Join(err, g.remove())
		}
	}
	return g, nil
}

func (g *guest) remove() error {
	return errors.Join(g.console.close(), os.RemoveAll(g.dir))
}

func (g *guest) arguments() []string {
	return []string{
		"mem=" + g.config.Memory,
		"rootfstype=hostfs", "rootflags=/", "ro", "quiet",
		"init=" + filepath.Join(g.dir, "init"),
		"uml_dir=" + g.dir + "/",
		"con=null", "con0=null,fd:1", "con1=null,fd:3", "con2=null,fd:4",
		"GUEST_DIR=" + g.dir, "GUEST_MARK=" + g.mark, "GUEST_ARTIFACTS=" + g.config.Artifacts,
	}
}

// keeper starts the kernel ("$@") and ends all of it when standard input, a pipe from the caller, is closed: also when the caller was
// killed. The kernel makes a process group of its own, and a dying one leaves helper processes in it.
// (A parent-death signal would reach the kernel's main process only.)
const keeper = `ulimit -c 0 # a panic is an abort
exec 9<&0
"$@" 9<&- &
guest=$!
{ cat <&9; kill -s KILL -- -$guest $guest; kill -s KILL 0; } >/dev/null 2>&1 &
wait $guest
kill -s KILL -- -$guest 2>/dev/null`

// run starts the kernel and waits for its end.
func (g *guest) run(ctx context.Context, kernel string) (int, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", keeper, "keeper", kernel}, g.arguments()...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + defaultPath, "TMPDIR=" + g.memory, markVariable + "=" + runMark()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	streams, err := openStreams(cmd, g.console, g.stdout, g.stderr)
	if err != nil {
		return 0, err
	}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return 0, errors.Join(err, streams.abandon())
	}
	if err := cmd.Start(); err != nil {
		return 0, errors.Join(fmt.Errorf("start %s: %w", kernel, err), streams.abandon())
	}
	streams.startReading()
	stop := context.AfterFunc(ctx, func() { _ = hold.Close() })
	_ = cmd.Wait() // the shell's status says nothing about the command's
	stop()
	killGroup(cmd.Process.Pid) // what watches the pipe
	if err := streams.wait(); err != nil {
		return 0, err
	}
	return g.result(ctx)
}

// result judges an ended guest. The kernel's own exit status says nothing about the command.
func (g *guest) result(ctx context.Context) (int, error) {
	if status, ok := g.stdout.status(); ok {
		return status, nil
	}
	if err := context.Cause(ctx); err != nil {
		return 0, fmt.Errorf("killed: %w", err)
	}
	if line, ok := g.console.panicLine(); ok {
		return 0, fmt.Errorf("kernel panic: %s\nconsole:\n%s", line, g.console.tail())
	}
	return 0, fmt.Errorf("ended without handing over an exit status\nconsole:\n%s", g.console.tail())
}

// killGroup kills a process group; one that is gone is no error.
func killGroup(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
}
