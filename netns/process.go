package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessConfig describes a long-running program of a node.
type ProcessConfig struct {
	// Name is the process's key on its node and its log's name: <artifacts>/<node>/<name>.log, appended to.
	Name string
	// Args is the program and its arguments.
	Args []string
	// Env is added to this process's environment.
	Env []string
	// Dir is the working directory; empty means "/".
	Dir string
}

// Process is a supervised program: standard output and error go to its log, and its unexpected end is reported
// (NodeConfig.OnCrash).
type Process struct {
	config ProcessConfig
	node   *Node
	cmd    *Cmd
	log    string
	done   chan struct{}

	mutex   sync.Mutex
	stopped bool // its end is wanted
	err     error
}

// Start starts a supervised process. A running process of the same name is an error. Ending ctx does not end it: Stop or
// Node.Close does.
func (n *Node) Start(ctx context.Context, c ProcessConfig) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := n.start(c)
	if err != nil {
		return nil, fmt.Errorf("node %s: start %s: %w", n.config.Name, c.Name, err)
	}
	return p, nil
}

func (n *Node) start(c ProcessConfig) (*Process, error) {
	if c.Name == "" || strings.ContainsRune(c.Name, '/') || len(c.Args) == 0 {
		return nil, fmt.Errorf("process %q: needs a name without slash, and a program", c.Name)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if old, ok := n.processes[c.Name]; ok && !old.exited() {
		return nil, errors.New("it is running already")
	}
	path := filepath.Join(n.logs, c.Name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer log.Close() // the process has its own descriptor

	cmd := n.Command(context.Background(), c.Args[0], c.Args[1:]...)
	cmd.Env = append(cmd.Env, c.Env...)
	if c.Dir != "" {
		cmd.Dir = c.Dir
	}
	cmd.Stdout, cmd.Stderr = log, log
	// A Ctrl-C at the terminal is the caller's to handle.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{config: c, node: n, cmd: cmd, log: path, done: make(chan struct{})}
	n.processes[c.Name] = p
	go p.supervise()
	return p, nil
}

// supervise waits for the process's end and reports it if nobody asked for it.
func (p *Process) supervise() {
	err := p.cmd.Wait()
	p.node.mutex.Lock()
	closed := p.node.closed
	p.node.mutex.Unlock()

	p.mutex.Lock()
	p.err = err
	wanted := p.stopped || closed
	p.mutex.Unlock()
	close(p.done)
	if wanted {
		return
	}
	p.node.log.Error("process ended unexpectedly", "process", p.config.Name, "state", p.cmd.ProcessState.String())
	if p.node.config.OnCrash != nil {
		p.node.config.OnCrash(p.crash())
	}
}

// crash is the error for an unexpected end.
func (p *Process) crash() error {
	return fmt.Errorf("node %s: %s ended unexpectedly (%s); end of %s:\n%s", p.node.config.Name, p.config.Name,
		p.cmd.ProcessState, p.log, tailOf(p.log))
}

// Name is the process's key on its node.
func (p *Process) Name() string { return p.config.Name }

// Pid is the process's number as this process sees it (on the node it has another one).
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// LogFile is the path of the process's log on the machine.
func (p *Process) LogFile() string { return p.log }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended, as exec.Cmd.Wait says it: nil for status 0. It is meaningful after Done.
func (p *Process) Err() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.err
}

// Stop ends the process with a signal and waits; after the deadline it is killed, which is an error unless the signal was
// SIGKILL. A process that has ended already is no error.
func (p *Process) Stop(signal unix.Signal, deadline time.Duration) error {
	p.mutex.Lock()
	p.stopped = true
	p.mutex.Unlock()
	if p.exited() {
		return nil
	}
	if err := p.signals(signal, unix.SIGCONT); err != nil { // a stopped process handles the signal once it continues
		return err
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	if err := p.signals(unix.SIGKILL); err != nil {
		return err
	}
	<-p.done
	if signal == unix.SIGKILL {
		return nil
	}
	return fmt.Errorf("node %s: %s did not end within %v of %s and was killed", p.node.config.Name, p.config.Name, deadline, unix.SignalName(signal))
}

// Kill ends the process at once, as a fault: it is not reported as a crash.
func (p *Process) Kill() error { return p.Stop(unix.SIGKILL, time.Minute) }

// Pause stops the process from running (SIGSTOP) until Resume.
func (p *Process) Pause() error { return p.signals(unix.SIGSTOP) }

// Resume lets a paused process run on (SIGCONT).
func (p *Process) Resume() error { return p.signals(unix.SIGCONT) }

// Signal sends the process a signal.
func (p *Process) Signal(signal unix.Signal) error { return p.signals(signal) }

func (p *Process) signals(signals ...unix.Signal) error {
	for _, s := range signals {
		err := p.cmd.Process.Signal(s)
		if errors.Is(err, os.ErrProcessDone) && p.wanted() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("node %s: %s: send %s: %w", p.node.config.Name, p.config.Name, unix.SignalName(s), err)
		}
	}
	return nil
}

func (p *Process) wanted() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.stopped
}

func (p *Process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// logTail is how much of a log an error shows, in bytes.
const logTail = 2048

// tailOf is the end of a file, or why it cannot be read.
func tailOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > logTail {
		_, err = f.Seek(-logTail, io.SeekEnd)
		if err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
