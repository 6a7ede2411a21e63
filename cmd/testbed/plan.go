package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// plan is which scenarios run, and in which job.
type plan struct {
	description string     // the suite's, which a focus is matched against together with the name
	total       int        // of all scenarios of the suite, matching or not
	names       []string   // full names in the suite's order, each once
	jobs        [][]string // side by side
	serial      []string   // by themselves afterwards: marked Serial, for example because they measure times
}

// makePlan asks the suite which scenarios match, without running them.
func makePlan(ctx context.Context, o options) (*plan, error) {
	path := filepath.Join(o.out, "plan.json")
	defer os.Remove(path)
	cmd := exec.CommandContext(ctx, o.suite, "-test.timeout=0", "-test.run="+suiteTest, "-ginkgo.dry-run", "-ginkgo.no-color", "-ginkgo.seed=1",
		"-ginkgo.focus="+o.focus, "-ginkgo.json-report="+path)
	cmd.Dir = o.out
	cmd.Env = append(os.Environ(), "TESTBED_LANE="+o.lane, "TESTBED_OUT="+o.out, "TESTBED_AGENT="+o.agent)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("list the scenarios of %s: %w\n%s", o.suite, err, out)
	}
	report, err := readReport(path)
	if err != nil {
		return nil, fmt.Errorf("list the scenarios: %w", err)
	}
	return divide(report, o)
}

// divide deals the scenarios out in turn. Those of one ordered container, and those of one name, stay together.
func divide(report *types.Report, o options) (*plan, error) {
	specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt)
	p := &plan{description: report.SuiteDescription, total: len(specs)}
	groups := map[string][]string{}
	var order []string
	for _, s := range specs {
		name := s.FullText()
		if s.State.Is(types.SpecStateSkipped|types.SpecStatePending) || slices.Contains(p.names, name) {
			continue
		}
		p.names = append(p.names, name)
		if s.IsSerial {
			p.serial = append(p.serial, name)
			continue
		}
		key := name
		if s.IsInOrderedContainer {
			key = "container " + s.ContainerHierarchyTexts[0]
		}
		if _, known := groups[key]; !known {
			order = append(order, key)
		}
		groups[key] = append(groups[key], name)
	}
	if len(p.names) == 0 {
		return nil, usageError(fmt.Sprintf("no scenario matches %q", o.focus))
	}
	p.jobs = make([][]string, min(o.jobs, len(order)))
	for i, key := range order {
		j := i % len(p.jobs)
		p.jobs[j] = append(p.jobs[j], groups[key]...)
	}
	return p, nil
}

// focus is the regular expression that matches exactly the named scenarios.
func (p *plan) focus(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "^" + regexp.QuoteMeta(p.description) + " (?:" + strings.Join(quoted, "|") + ")$"
}

// readReport reads ginkgo's JSON report of one suite.
func readReport(path string) (*types.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []types.Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(reports) != 1 {
		return nil, fmt.Errorf("%s: reports of %d suites, want 1", path, len(reports))
	}
	return &reports[0], nil
}
