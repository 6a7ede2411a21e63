package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ovn-bgp-agent/netns"
)

// suiteTest is the test function that runs the specs of a suite.
const suiteTest = "^TestScenarios$"

// runSuite plans, runs and reports. Its error says what was not green.
func runSuite(ctx context.Context, o options, stdout io.Writer) error {
	kernel, why, err := chooseKernel(o.kernel)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "kernel: %s (%s)\n", kernel, why)
	if o.jobs == 0 {
		o.jobs = defaultJobs(kernel)
	}
	if err := emptyOut(o.out); err != nil {
		return err
	}
	p, err := makePlan(ctx, o)
	if err != nil {
		return err
	}
	start := time.Now()
	failures := p.run(ctx, o, kernel, stdout)
	result := collect(p, o.out)
	result.elapsed = time.Since(start)
	if err := result.write(o.out); err != nil {
		return err
	}
	result.print(stdout, o.lane, kernel)
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if !result.green() {
		return errors.New("not all scenarios passed")
	}
	return nil
}

func chooseKernel(forced netns.Kernel) (netns.Kernel, string, error) {
	if forced != "" {
		return forced, "as asked for", nil
	}
	return netns.Choose()
}

// emptyOut removes the former run's results, and nothing else that may be in the folder.
func emptyOut(out string) error {
	old, err := filepath.Glob(filepath.Join(out, "job-*"))
	if err != nil {
		return fmt.Errorf("out: %w", err)
	}
	for _, path := range append(old, filepath.Join(out, reportFile), filepath.Join(out, junitFile)) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("out: %w", err)
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("out: %w", err)
	}
	return nil
}
