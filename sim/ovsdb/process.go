package ovsdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a child that ends with this one, with its output in a file.
type process struct {
	cmd     *exec.Cmd
	output  string
	stopped atomic.Bool
	ended   chan struct{}
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

func startProcess(ctx context.Context, output string, log *slog.Logger, name string, args ...string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own descriptor
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, output: output, ended: make(chan struct{})}
	go func() {
		err := cmd.Wait()
		if !p.stopped.Load() {
			log.Error("process ended by itself", "program", name, "error", err, "output", output)
		}
		close(p.ended)
	}()
	return p, nil
}

// stop kills the process and waits for its end.
func (p *process) stop() error {
	p.stopped.Store(true)
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.cmd.Path, err)
	}
	<-p.ended
	return nil
}

var listeningPort = regexp.MustCompile(`listening on port (\d+)`)

// listening waits until the process accepts connections and returns where: a
// tcp port 0 is replaced by the port that the log tells.
func (p *process) listening(ctx context.Context, endpoint string) (string, error) {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		if host, ok := strings.CutSuffix(endpoint, ":0"); ok {
			text, err := os.ReadFile(p.output)
			if err != nil {
				return "", err
			}
			if m := listeningPort.FindSubmatch(text); m != nil {
				endpoint = host + ":" + string(m[1])
			}
		} else if network, address, err := splitEndpoint(endpoint); err != nil {
			return "", err
		} else if c, err := net.Dial(network, address); err == nil {
			return endpoint, c.Close()
		}
		select {
		case <-poll.C:
		case <-p.ended:
			text, err := os.ReadFile(p.output)
			return "", errors.Join(fmt.Errorf("ended: %s", bytes.TrimSpace(text)), err)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// passiveRemote is the --remote of ovsdb-server for an endpoint (ovsdb(7)).
func passiveRemote(endpoint string) (string, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return "", err
	}
	if network == "unix" {
		return "punix:" + address, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("endpoint %q: %w", endpoint, err)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return "ptcp:" + port + ":" + host, nil
}
