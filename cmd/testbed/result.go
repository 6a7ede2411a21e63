package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/onsi/ginkgo/v2/reporters"
	"github.com/onsi/ginkgo/v2/types"

	"ovn-bgp-agent/netns"
)

// Names of the reports in out/ and in each job's folder.
const (
	reportFile = "report.json"
	junitFile  = "junit.xml"
)

// result is the outcome of a whole run.
type result struct {
	plan    *plan
	report  types.Report                // all jobs' reports as one
	ran     map[string]types.SpecReport // by full name
	elapsed time.Duration
}

// collect merges the jobs' reports. A job that died without a report, or a scenario that its job did not come to, leaves the scenario out
// of ran, which is not green.
func collect(p *plan, out string) *result {
	r := &result{plan: p, ran: map[string]types.SpecReport{}}
	paths, _ := filepath.Glob(filepath.Join(out, "job-*", reportFile)) // the pattern is well-formed
	skipped := map[string]types.SpecReport{}
	for _, path := range paths {
		report, err := readReport(path)
		if err != nil {
			continue // its scenarios count as not run
		}
		r.add(report, skipped)
	}
	for _, name := range sortedNames(skipped) {
		if _, ok := r.ran[name]; !ok {
			r.report.SpecReports = append(r.report.SpecReports, skipped[name])
		}
	}
	r.report.SuiteSucceeded = r.green()
	r.report.PreRunStats = types.PreRunStats{TotalSpecs: p.total, SpecsThatWillRun: len(p.names)}
	return r
}

func (r *result) add(report *types.Report, skipped map[string]types.SpecReport) {
	if r.report.SuitePath == "" {
		r.report = *report
		r.report.SpecReports = nil
	}
	r.report.SpecialSuiteFailureReasons = append(r.report.SpecialSuiteFailureReasons, report.SpecialSuiteFailureReasons...)
	r.report.StartTime = earliest(r.report.StartTime, report.StartTime)
	if report.EndTime.After(r.report.EndTime) {
		r.report.EndTime = report.EndTime
	}
	r.report.RunTime = r.report.EndTime.Sub(r.report.StartTime)
	for _, s := range report.SpecReports {
		switch name := s.FullText(); {
		case !s.LeafNodeType.Is(types.NodeTypeIt):
			r.report.SpecReports = append(r.report.SpecReports, s)
		case s.State.Is(types.SpecStateSkipped|types.SpecStatePending) && s.NumAttempts == 0:
			skipped[name] = s
		default:
			r.ran[name] = s
			r.report.SpecReports = append(r.report.SpecReports, s)
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func sortedNames(m map[string]types.SpecReport) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// green tells whether every planned scenario ran and none failed.
func (r *result) green() bool {
	for _, name := range r.plan.names {
		s, ok := r.ran[name]
		if !ok || s.State.Is(types.SpecStateFailureStates) {
			return false
		}
	}
	return true
}

// write leaves the merged reports in out/.
func (r *result) write(out string) error {
	return errors.Join(
		reporters.GenerateJSONReport(r.report, filepath.Join(out, reportFile)),
		reporters.GenerateJUnitReport(r.report, filepath.Join(out, junitFile)))
}

// print writes the table and ginkgo's own closing lines for all jobs together.
func (r *result) print(w io.Writer, lane string, kernel netns.Kernel) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSCENARIO\tLANE\tKERNEL\tRESULT\tTIME")
	for _, name := range r.plan.names {
		word, took := "not run", "-"
		if s, ok := r.ran[name]; ok {
			word, took = s.State.String(), fmt.Sprintf("%.1fs", s.RunTime.Seconds())
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, lane, kernel, word, took)
	}
	_ = table.Flush() // a closed standard output has no reader to tell
	verdict := "SUCCESS!"
	if !r.green() {
		verdict = "FAIL!"
	}
	c := r.count()
	fmt.Fprintf(w, "\nRan %d of %d Specs in %.3f seconds\n%s -- %d Passed | %d Failed | %d Not run | %d Skipped\n",
		c.passed+c.failed, r.plan.total, r.elapsed.Seconds(), verdict, c.passed, c.failed, c.notRun,
		r.plan.total-c.passed-c.failed-c.notRun)
}

type counts struct{ passed, failed, notRun int }

// count leaves out what was skipped, before it began or by its own decision.
func (r *result) count() (c counts) {
	for _, name := range r.plan.names {
		switch s, ok := r.ran[name]; {
		case !ok:
			c.notRun++
		case s.State.Is(types.SpecStateFailureStates):
			c.failed++
		case s.State.Is(types.SpecStatePassed):
			c.passed++
		}
	}
	return c
}
