package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"ovn-bgp-agent/netns"
)

// tiny compiles the suite in testdata once.
var tiny = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "testbed-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tiny.test")
	cmd := exec.Command("go", "test", "-c", "-o", path, "./testdata/tiny")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &buildError{err, string(out)}
	}
	return path, nil
})

type buildError struct {
	error
	output string
}

func (e *buildError) Error() string { return e.error.Error() + "\n" + e.output }

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := tiny(); err == nil {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			status = 1
		}
	}
	os.Exit(status)
}

// invoke runs "testbed run" on the tiny suite.
func invoke(t *testing.T, args ...string) (status int, out, stdout, stderr string) {
	t.Helper()
	suite, err := tiny()
	if err != nil {
		t.Fatal(err)
	}
	out = t.TempDir()
	var o, e bytes.Buffer
	all := append([]string{"run", "--suite", suite, "--agent", suite, "--out", out}, args...)
	status = command(t.Context(), all, &o, &e)
	return status, out, o.String(), e.String()
}

func needNative(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func expectText(t *testing.T, where, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("%s lacks %q:\n%s", where, p, text)
		}
	}
}

func TestGreenRun(t *testing.T) {
	needNative(t)
	status, out, stdout, stderr := invoke(t, "--kernel", "native", "--jobs", "2", "--focus", "scenario")
	if status != exitGreen {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	expectText(t, "output", stdout, `^kernel: native \(as asked for\)$`, `^\[1\] .`, `^\[2\] .`,
		`^scenario 1 passes \(v4\|v6\) +netns +native +passed +\d+\.\ds$`, `^scenario 1 measures +netns .* passed`,
		`^scenario 2 goes second +netns .* passed`, `^Ran 5 of 8 Specs in \d+\.\d+ seconds$`, `^SUCCESS! -- 5 Passed \| 0 Failed \| 0 Not run \| 3 Skipped$`)
	note, err := os.ReadFile(filepath.Join(out, "job-1", "note"))
	if suite, _ := tiny(); err != nil || string(note) != "netns native "+suite {
		t.Errorf("settings in the suite: %q, %v", note, err)
	}
	report, err := readReport(filepath.Join(out, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := report.SpecReports.CountWithState(types.SpecStatePassed); n != 5 || !report.SuiteSucceeded {
		t.Errorf("report: %d passed, succeeded %v", n, report.SuiteSucceeded)
	}
	junit, err := os.ReadFile(filepath.Join(out, junitFile))
	if err != nil {
		t.Fatal(err)
	}
	expectText(t, "JUnit", string(junit), `scenario 1 passes \(v4\|v6\) too`, `failures="0"`)
}

func TestRedRunsAreRed(t *testing.T) {
	needNative(t)
	for _, c := range []struct {
		name, focus string
		patterns    []string
	}{
		{"failure", "scenario 1 passes|fails", []string{`^trouble fails +netns +native +failed`, `passed`, `^Ran 3 of 8 Specs`, `^FAIL! -- 2 Passed \| 1 Failed \| 0 Not run \| 5 Skipped$`}},
		{"death of the suite", "dies", []string{`^trouble dies +netns +native +not run +-$`, `^FAIL! -- 0 Passed \| 0 Failed \| 1 Not run \| 7 Skipped$`, `^Ran 0 of 8 Specs`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, stdout, stderr := invoke(t, "--kernel", "native", "--focus", c.focus)
			if status != exitRed || !strings.Contains(stderr, "exit status") {
				t.Errorf("status %d, %s", status, stderr)
			}
			expectText(t, "output", stdout, c.patterns...)
		})
	}
}

func TestRunInTheGuest(t *testing.T) {
	if _, err := exec.LookPath("linux.uml"); err != nil {
		t.Skip(err)
	}
	status, out, stdout, stderr := invoke(t, "--kernel", "guest", "--jobs", "2", "--focus", `v4\|v6|fails`)
	if status != exitRed || strings.Contains(stdout, "\r") {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	expectText(t, "output", stdout, `^scenario 1 passes \(v4\|v6\) too +netns +guest +passed`, `^trouble fails +netns +guest +failed`,
		`^Ran 3 of 8 Specs`)
	note, err := os.ReadFile(filepath.Join(out, "job-1", "note"))
	if suite, _ := tiny(); err != nil || string(note) != "netns guest "+suite {
		t.Errorf("settings in the suite: %q, %v", note, err)
	}
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	suite, err := tiny()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"--suite", suite, "--agent", suite, "--out", t.TempDir()}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no command"},
		{[]string{"fly"}, `no command "fly"`},
		{[]string{"clean", "x"}, "no arguments"},
		{[]string{"run", "--wings"}, "-wings"},
		{append([]string{"run"}, append(files, "x")...), `unexpected argument "x"`},
		{append([]string{"run", "--focus", "("}, files...), "focus"},
		{append([]string{"run", "--lane", "air"}, files...), `lane "air": must be netns`},
		{append([]string{"run", "--kernel", "plan9"}, files...), `kernel "plan9": must be native or guest`},
		{append([]string{"run", "--jobs", "-1"}, files...), "jobs -1"},
		{append([]string{"run", "--timeout", "0s"}, files...), "timeout 0s"},
		{[]string{"run", "--suite", suite, "--agent", "/nonexistent"}, "agent: stat /nonexistent"},
		{[]string{"run", "--suite", "/etc/passwd", "--agent", suite}, "suite: /etc/passwd is not a program"},
		{append([]string{"run", "--kernel", "guest", "--focus", "nothing like it"}, files...), `no scenario matches "nothing like it"`},
	} {
		var out, problems bytes.Buffer
		status := command(context.Background(), c.args, &out, &problems)
		if text := problems.String(); status != exitUsage || !strings.Contains(text, c.want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%v: status %d, %q", c.args, status, text)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}} {
		var out, problems bytes.Buffer
		if status := command(context.Background(), args, &out, &problems); status != exitGreen || problems.Len() > 0 {
			t.Errorf("%v: status %d, %s", args, status, problems.String())
		}
		expectText(t, "help", out.String(), "testbed clean", "-focus regexp", "-jobs number")
	}
}

func TestPlanKeepsOrderedContainersTogether(t *testing.T) {
	spec := func(name, container string, ordered, serial bool) types.SpecReport {
		return types.SpecReport{LeafNodeType: types.NodeTypeIt, LeafNodeText: name, ContainerHierarchyTexts: []string{container},
			IsInOrderedContainer: ordered, IsSerial: serial, State: types.SpecStatePassed}
	}
	report := &types.Report{SuiteDescription: "all (of it)", SpecReports: types.SpecReports{
		spec("a", "x", true, false), spec("b", "y", false, false), spec("c", "x", true, false), spec("d", "y", false, false),
		spec("d", "y", false, false), spec("e", "y", false, true)}}
	p, err := divide(report, options{jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.jobs[0], ",") + " | " + strings.Join(p.jobs[1], ",") + " | " + strings.Join(p.serial, ","); got != "x a,x c,y d | y b | y e" {
		t.Errorf("shares: %s", got)
	}
	focus := regexp.MustCompile(p.focus(p.jobs[0]))
	for text, want := range map[string]bool{"all (of it) x a": true, "all (of it) y d": true, "all (of it) y b": false, "all (of it) x ab": false, "x a": false} {
		if focus.MatchString(text) != want {
			t.Errorf("focus %s on %q: %v", focus, text, !want)
		}
	}
}

func TestLineWriterKeepsLinesWhole(t *testing.T) {
	var out bytes.Buffer
	var lock sync.Mutex
	a, b := &lineWriter{to: &out, lock: &lock, prefix: "[1] "}, &lineWriter{to: &out, lock: &lock, prefix: "[2] "}
	for _, step := range []struct {
		w    *lineWriter
		text string
	}{{a, "one "}, {b, "two\nthree"}, {a, "line\n\n"}, {b, ""}} {
		if _, err := step.w.Write([]byte(step.text)); err != nil {
			t.Fatal(err)
		}
	}
	a.flush()
	b.flush()
	if got := out.String(); got != "[2] two\n[1] one line\n[1] \n[2] three\n" {
		t.Errorf("%q", got)
	}
}

func TestChosenKernelHasAReason(t *testing.T) {
	kernel, why, err := chooseKernel("")
	if err != nil || why == "" || (kernel != netns.Native && kernel != netns.Guest) {
		t.Errorf("%q, %q, %v", kernel, why, err)
	}
}
