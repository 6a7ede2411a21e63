package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"ovn-bgp-agent/netns"
)

// interruptGrace is what an interrupted suite has to clean up and to write its report.
const interruptGrace = 20 * time.Second

// job is one process or guest with its share of the scenarios.
type job struct {
	folder string // in out/
	focus  string
	output io.Writer
}

func jobFolder(out string, number int) string {
	return filepath.Join(out, "job-"+strconv.Itoa(number))
}

// run runs the jobs side by side, then the serial scenarios, and returns the jobs' failures.
func (p *plan) run(ctx context.Context, o options, kernel netns.Kernel, stdout io.Writer) []error {
	var lock sync.Mutex
	errs := make([]error, len(p.jobs), len(p.jobs)+1)
	var running sync.WaitGroup
	for i, names := range p.jobs {
		running.Go(func() {
			errs[i] = p.runJob(ctx, o, kernel, i+1, names, stdout, &lock)
		})
	}
	running.Wait()
	if len(p.serial) > 0 && ctx.Err() == nil {
		errs = append(errs, p.runJob(ctx, o, kernel, len(p.jobs)+1, p.serial, stdout, &lock))
	}
	return errs
}

func (p *plan) runJob(ctx context.Context, o options, kernel netns.Kernel, number int, names []string, stdout io.Writer, lock *sync.Mutex) error {
	j := job{folder: jobFolder(o.out, number), focus: p.focus(names), output: stdout}
	if len(p.jobs) > 1 {
		lines := &lineWriter{to: stdout, lock: lock, prefix: fmt.Sprintf("[%d] ", number)}
		defer lines.flush()
		j.output = lines
	}
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return fmt.Errorf("job %d: %w", number, err)
	}
	run := j.native
	if kernel == netns.Guest {
		run = j.guest
	}
	if err := run(ctx, o); err != nil {
		return fmt.Errorf("job %d: %w", number, err)
	}
	return nil
}

func (j job) arguments() []string {
	return []string{"-test.timeout=0", "-test.run=" + suiteTest, "-ginkgo.v", "-ginkgo.no-color", "-ginkgo.focus=" + j.focus,
		"-ginkgo.json-report=" + filepath.Join(j.folder, reportFile), "-ginkgo.junit-report=" + filepath.Join(j.folder, junitFile)}
}

// environment is how the suite learns its settings.
func (j job) environment(o options, kernel netns.Kernel) []string {
	environment := []string{"TESTBED_LANE=" + o.lane, "TESTBED_KERNEL=" + string(kernel), "TESTBED_AGENT=" + o.agent, "TESTBED_OUT=" + j.folder}
	if o.foreign {
		environment = append(environment, "TESTBED_FOREIGN=1")
	}
	return environment
}

func (j job) native(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not finished after %v", o.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, o.suite, j.arguments()...)
	cmd.Dir = j.folder
	cmd.Env = append(os.Environ(), j.environment(o, netns.Native)...)
	cmd.Stdout, cmd.Stderr = j.output, j.output
	// A group of its own: Ctrl-C reaches the suite once, from here.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("suite: %w", errors.Join(context.Cause(ctx), err))
	}
	return nil
}

func (j job) guest(ctx context.Context, o options) error {
	exit, err := netns.RunGuest(ctx, netns.GuestConfig{
		Command: append([]string{o.suite}, j.arguments()...), Env: j.environment(o, netns.Guest),
		Dir: j.folder, Artifacts: j.folder, Memory: o.memory, Timeout: o.timeout, Stdout: j.output, Stderr: j.output,
	})
	if err != nil {
		return err
	}
	if exit != 0 {
		return fmt.Errorf("suite: exit status %d", exit)
	}
	return nil
}
