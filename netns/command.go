package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// commandGrace is how long a command's inherited output may stay open after its end or the end of its context.
const commandGrace = 2 * time.Second

// Cmd is an exec.Cmd that starts on its node. Only the methods defined here start it there.
type Cmd struct {
	*exec.Cmd
	node *Node
}

// Command prepares a program that runs in the node's namespaces, with this process's environment. It is killed when ctx ends.
func (n *Node) Command(ctx context.Context, name string, args ...string) *Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), markVariable+"="+runMark())
	cmd.WaitDelay = commandGrace
	return &Cmd{Cmd: cmd, node: n}
}

// Start starts the program on its node, see exec.Cmd.Start.
func (c *Cmd) Start() error { return c.node.Do(c.Cmd.Start) }

// Run starts the program on its node and waits for its end, see exec.Cmd.Run.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output is the program's standard output, see exec.Cmd.Output; an error carries what the program wrote to standard error.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("standard output is already set")
	}
	var out, problems bytes.Buffer
	c.Stdout = &out
	if c.Stderr == nil {
		c.Stderr = &problems
	}
	err := c.Run()
	if err != nil && problems.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(problems.String()))
	}
	return out.Bytes(), err
}

// CombinedOutput is the program's standard output and error, see exec.Cmd.CombinedOutput.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("standard output or error is already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Run runs a program on the node and returns its standard output and error; a failure's error has them too.
func (n *Node) Run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := n.Command(ctx, name, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("node %s: %s: %w: %s", n.config.Name,
			strings.Join(append([]string{name}, args...), " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
