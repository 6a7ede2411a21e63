package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// playGuest runs a guest that never ends; its first output is passed on.
func playGuest() error {
	_, err := RunGuest(context.Background(), GuestConfig{Command: []string{"sh", "-c", "echo up; sleep 600"}, Stdout: os.Stdout, Timeout: guestTimeout})
	return err
}

// playNode makes a node with a process that a pipe's end alone would not end, and stays.
func playNode() error {
	dir, err := os.MkdirTemp("", "netns-test")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, err := NewNode(context.Background(), NodeConfig{Name: "left", Artifacts: dir})
	if err != nil {
		return err
	}
	p, err := n.Start(context.Background(), ProcessConfig{Name: "sleeper", Args: []string{"sh", "-c", "trap '' TERM HUP INT; sleep 6000 & sleep 6000; sleep 6000"}})
	if err != nil {
		return err
	}
	if err := p.Pause(); err != nil {
		return err
	}
	fmt.Println("up")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, n.Close())
}

// startRole starts this binary as another program and waits for its line "up".
func startRole(t *testing.T, role string) (mark string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	}
	mark = fmt.Sprintf("%d:%s", cmd.Process.Pid, startTime(cmd.Process.Pid))
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "up" {
		kill()
		t.Fatalf("helper %s said %q, %v", role, line, err)
	}
	return mark, kill
}

// eventually waits until check finds nothing wrong.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.Tick(10 * time.Millisecond); ; <-tick {
		wrong := check()
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(wrong)
		}
	}
}

func TestKilledRunLeavesNoProcess(t *testing.T) {
	for role, needs := range map[string]func(*testing.T){"guest": needGuest, "node": needRoot} {
		t.Run(role, func(t *testing.T) {
			needs(t)
			t.Setenv("TMPDIR", t.TempDir()) // the killed run cannot remove its folder
			mark, kill := startRole(t, role)
			if len(processesOf(t, mark, "")) == 0 {
				t.Error("no process has the run's mark: Clean could not find it")
			}
			kill()
			eventually(t, func() string {
				if left := processesOf(t, mark, ""); len(left) > 0 {
					return "processes are left: " + strings.Join(left, "\n")
				}
				return ""
			})
		})
	}
}

func TestCleanRemovesWhatKilledRunsLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mine, err := makeRunFolder()
	if err != nil {
		t.Fatal(err)
	}
	// The process number of this test, but another start time: a run that is gone.
	gone := fmt.Sprintf("%d:%d", os.Getpid(), 1)
	if err := os.Mkdir(os.TempDir()+"/"+folderPrefix+strings.ReplaceAll(gone, ":", "-")+"-123", 0o755); err != nil {
		t.Fatal(err)
	}
	start := func(mark string) *exec.Cmd {
		cmd := exec.Command("sleep", "600")
		cmd.Env = []string{markVariable + "=" + mark}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	left, live := start(gone), start(runMark())
	defer func() {
		_ = live.Process.Kill()
		_ = live.Wait()
	}()
	lines, err := Clean()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, fmt.Sprintf("killed process %d ", left.Process.Pid)) || !strings.Contains(text, "-1-123") {
		t.Errorf("Clean says: %s", text)
	}
	if err := left.Wait(); err == nil {
		t.Error("the left process ended by itself")
	}
	if strings.Contains(text, fmt.Sprintf("killed process %d ", live.Process.Pid)) || !alive(runMark()) {
		t.Error("a live run's process was killed")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a live run's folder was removed: %v", err)
	}
}
