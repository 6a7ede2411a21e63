// Command testbed runs the scenario suite on the kernel that fits, and removes what killed runs left behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"ovn-bgp-agent/netns"
)

// Exit statuses.
const (
	exitGreen = 0
	exitRed   = 1
	exitUsage = 2
)

const usage = `testbed runs the scenarios of ovn-bgp-agent.

usage:
  testbed run [options]   run the suite, print a table; status 1 if anything failed
  testbed guest PROGRAM [ARGUMENT]…
                          run one program in the guest, in this folder; what it writes to the disk is lost
  testbed clean           end the processes and remove the folders that killed runs left behind
  testbed --help

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command runs one invocation and returns its exit status.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout)
	if err == nil {
		return exitGreen
	}
	fmt.Fprintln(stderr, "testbed:", err)
	var wrong usageError
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitRed
}

func dispatch(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return usageError("no command; see testbed --help")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return help(stdout)
	case "run":
		o, err := parseOptions(args[1:])
		if errors.Is(err, errHelp) {
			return help(stdout)
		}
		if err != nil {
			return err
		}
		return runSuite(ctx, o, stdout)
	case "guest":
		return runInGuest(ctx, args[1:], stdout)
	case "clean":
		if len(args) > 1 {
			return usageError("clean takes no arguments")
		}
		lines, err := netns.Clean()
		for _, l := range lines {
			fmt.Fprintln(stdout, l)
		}
		return err
	default:
		return usageError(fmt.Sprintf("no command %q; see testbed --help", args[0]))
	}
}

// runInGuest runs one program of this machine in the guest.
func runInGuest(ctx context.Context, command []string, stdout io.Writer) error {
	if len(command) == 0 {
		return usageError("guest: no program given")
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("guest: %w", err)
	}
	exit, err := netns.RunGuest(ctx, netns.GuestConfig{Command: command, Env: os.Environ(), Dir: dir, Stdout: stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	if exit != 0 {
		return fmt.Errorf("guest: %s: exit status %d", command[0], exit)
	}
	return nil
}

func help(w io.Writer) error {
	_, err := fmt.Fprint(w, usage, "options of run:\n", optionHelp())
	return err
}
