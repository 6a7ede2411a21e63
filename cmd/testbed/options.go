package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"ovn-bgp-agent/netns"
)

// usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// errHelp says that help was asked for.
var errHelp = errors.New("help")

// options are those of "testbed run"; paths are absolute.
type options struct {
	focus   string
	lane    string
	kernel  netns.Kernel // empty: choose
	agent   string
	foreign bool
	suite   string
	out     string
	memory  string
	jobs    int
	timeout time.Duration
}

func flags(o *options, kernel *string) *flag.FlagSet {
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.focus, "focus", "", "only the scenarios whose name matches this `regexp`")
	f.StringVar(&o.lane, "lane", "netns", "the `lane` to run in: netns")
	f.StringVar(kernel, "kernel", "", "`native` or guest (default: native if root and this kernel suffices, else guest)")
	f.StringVar(&o.agent, "agent", "", "`path` of the agent under test (default: ovn-bgp-agent beside this program)")
	f.BoolVar(&o.foreign, "foreign", false, "watch the agent from outside only, even if it could be asked (another agent always is)")
	f.StringVar(&o.suite, "suite", "", "`path` of the compiled suite (default: scenarios.test beside this program)")
	f.StringVar(&o.out, "out", "out", "`folder` for logs and reports")
	f.StringVar(&o.memory, "memory", "", "memory of one guest, as `1024M`")
	f.IntVar(&o.jobs, "jobs", 0, "`number` of processes or guests side by side (default 0: as many as the processors are good for)")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "`bound` of each of them")
	return f
}

// defaultJobs: a guest keeps two processors busy, its own and the one that watches over its system calls; on the machine's own
// kernel a scenario mostly waits.
func defaultJobs(kernel netns.Kernel) int {
	if kernel == netns.Guest {
		return max(1, runtime.NumCPU()/2)
	}
	return runtime.NumCPU()
}

func optionHelp() string {
	var b strings.Builder
	f := flags(&options{}, new(string))
	f.SetOutput(&b)
	f.PrintDefaults()
	return b.String()
}

func parseOptions(args []string) (options, error) {
	var o options
	var kernel string
	f := flags(&o, &kernel)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, errHelp
	} else if err != nil {
		return o, usageError(err.Error())
	}
	o.kernel = netns.Kernel(kernel)
	_, badFocus := regexp.Compile(o.focus)
	switch {
	case f.NArg() > 0:
		return o, usageError(fmt.Sprintf("unexpected argument %q", f.Arg(0)))
	case badFocus != nil:
		return o, usageError(fmt.Sprintf("focus: %v", badFocus))
	case o.lane != "netns":
		return o, usageError(fmt.Sprintf("lane %q: must be netns", o.lane))
	case kernel != "" && o.kernel != netns.Native && o.kernel != netns.Guest:
		return o, usageError(fmt.Sprintf("kernel %q: must be native or guest", kernel))
	case o.kernel == netns.Native && os.Geteuid() != 0:
		return o, usageError("kernel native needs root")
	case o.jobs < 0:
		return o, usageError(fmt.Sprintf("jobs %d: must not be negative", o.jobs))
	case o.timeout <= 0:
		return o, usageError(fmt.Sprintf("timeout %v: must be positive", o.timeout))
	}
	return o, o.findFiles()
}

// findFiles makes the paths absolute and looks whether the programs are there.
func (o *options) findFiles() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own path: %w", err)
	}
	for _, p := range []struct {
		what, standard string
		path           *string
	}{{"agent", "ovn-bgp-agent", &o.agent}, {"suite", "scenarios.test", &o.suite}} {
		if *p.path == "" {
			*p.path = filepath.Join(filepath.Dir(self), p.standard)
		}
		if *p.path, err = filepath.Abs(*p.path); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		info, err := os.Stat(*p.path)
		if err != nil {
			return usageError(fmt.Sprintf("%s: %v", p.what, err))
		}
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return usageError(fmt.Sprintf("%s: %s is not a program", p.what, *p.path))
		}
	}
	if o.out, err = filepath.Abs(o.out); err != nil {
		return fmt.Errorf("out: %w", err)
	}
	return nil
}
