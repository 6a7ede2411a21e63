package netns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// roleVariable makes this test binary play a helper program instead of running tests.
const roleVariable = "NETNS_TEST_ROLE"

// insideVariable tells the tests that they run in the guest.
const insideVariable = "NETNS_TEST_INSIDE"

func inGuest() bool { return os.Getenv(insideVariable) != "" }

func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(roleVariable)
	if !ok {
		os.Exit(m.Run())
	}
	play, ok := map[string]func() error{"guest": playGuest, "node": playNode, "boot": playBoot}[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(2)
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playBoot runs this test binary's node tests in a guest.
func playBoot() error {
	exit, err := RunGuest(context.Background(), GuestConfig{
		Command: []string{os.Args[0], "-test.v", "-test.skip", "InTheGuest|Killed", "-test.run", "Node|VRF|FRR|Bgpd|Crash|Processes|Command|Probe"},
		Env:     []string{insideVariable + "=1"}, Artifacts: os.Getenv("NETNS_TEST_ARTIFACTS"),
		Timeout: guestTimeout, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err == nil && exit != 0 {
		err = errors.New("tests failed in the guest")
	}
	return err
}
