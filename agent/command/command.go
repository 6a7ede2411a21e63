// Package command is the command line of ovn-bgp-agent: the daemon, and the
// requests to a running one.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"ovn-bgp-agent/agent"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `ovn-bgp-agent announces over BGP, through FRR, what OVN places on this node.

Usage:
  ovn-bgp-agent [options]                  run the agent
  ovn-bgp-agent [options] status [--json]  what is announced, pending or refused, and why
  ovn-bgp-agent [options] sync             compare the whole node now; print what was written
  ovn-bgp-agent [options] settled          wait until every row committed so far is applied
  ovn-bgp-agent [options] confirm          let a held mass withdrawal go

Options:
`

// Program is what differs between builds of the command.
type Program struct {
	Version string
	// Alter changes the agent's parts before it starts; nil changes nothing.
	Alter func(*agent.Parts)
}

// Main runs the command and returns its exit code. SIGINT and SIGTERM end it.
func (p Program) Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return p.run(ctx, args, stdout, stderr)
}

// options are the command line.
type options struct {
	configFiles list
	configDirs  list
	debug       bool
	logFile     string
	dryRun      bool
	json        bool
	version     bool
	command     string
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return fmt.Sprint([]string(*l)) }

// Set implements flag.Value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("ovn-bgp-agent", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.Var(&o.configFiles, "config-file", "read this `file`; may be repeated, later ones win")
	flags.Var(&o.configDirs, "config-dir", "read all *.conf of this `directory`, sorted, after the files")
	flags.BoolVar(&o.debug, "debug", false, "log at level DEBUG, whatever the configuration says")
	flags.BoolVar(&o.debug, "d", false, "short for --debug")
	flags.StringVar(&o.logFile, "log-file", "", "append the log to this `file` instead of standard error")
	flags.BoolVar(&o.dryRun, "dry-run", false, "watch and plan, but write nothing to the node; see status")
	flags.BoolVar(&o.json, "json", false, "status: print JSON")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	rest, err := parseInterspersed(flags, args)
	if err != nil {
		return o, err
	}
	if len(rest) > 1 {
		return o, fmt.Errorf("unexpected argument %q", rest[1])
	}
	if len(rest) == 1 {
		o.command = rest[0]
	}
	return o, nil
}

// parseInterspersed accepts options before and after the command's name.
func parseInterspersed(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

func (p Program) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "ovn-bgp-agent: %v (see --help)\n", err)
		return exitUsage
	case o.version:
		fmt.Fprintln(stdout, "ovn-bgp-agent", p.Version)
		return exitOK
	}
	commands := map[string]func(context.Context, options, io.Writer) error{
		"": p.serve, "status": showStatus, "sync": syncNow, "settled": settled, "confirm": confirm,
	}
	command, known := commands[o.command]
	if !known {
		fmt.Fprintf(stderr, "ovn-bgp-agent: unknown command %q (see --help)\n", o.command)
		return exitUsage
	}
	if err := command(ctx, o, stdout); err != nil {
		fmt.Fprintf(stderr, "ovn-bgp-agent: %v\n", err)
		return exitFailed
	}
	return exitOK
}
