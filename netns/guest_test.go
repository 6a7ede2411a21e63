package netns

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// guestTimeout bounds a guest of a test on a loaded machine.
const guestTimeout = 10 * time.Minute

// needGuest skips a test where guests cannot be run.
func needGuest(t *testing.T) {
	t.Helper()
	if inGuest() {
		t.Skip("runs on the host only")
	}
	if _, err := exec.LookPath(guestProgram); err != nil {
		t.Skipf("package user-mode-linux is missing: %v", err)
	}
}

// shell runs a shell text in a guest.
func shell(t *testing.T, c GuestConfig, text string) (exit int, stdout, stderr string, err error) {
	t.Helper()
	var out, problems bytes.Buffer
	c.Command = []string{"sh", "-c", text}
	c.Stdout, c.Stderr = &out, &problems
	if c.Timeout == 0 {
		c.Timeout = guestTimeout
	}
	exit, err = RunGuest(t.Context(), c)
	return exit, out.String(), problems.String(), err
}

func TestGuestHandsBackTheStatus(t *testing.T) {
	needGuest(t)
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"success", "true", 0},
		{"failure", "exit 1", 1},
		{"any status", "exit 42", 42},
		{"killed by a signal", "kill -9 $$", 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, _, _, err := shell(t, GuestConfig{}, c.text)
			if err != nil || exit != c.want {
				t.Errorf("exit %d, error %v; want %d", exit, err, c.want)
			}
		})
	}
}

func TestGuestWithoutStatusIsAnError(t *testing.T) {
	needGuest(t)
	for _, c := range []struct {
		name, text, want string
	}{
		{"panic", "echo c >/proc/sysrq-trigger; sleep 60", "kernel panic: Kernel panic - not syncing: sysrq triggered crash"},
		{"end before the command's", "echo o >/proc/sysrq-trigger; sleep 60", "without handing over an exit status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := shell(t, GuestConfig{}, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestGuestIsBoundedByItsTimeout(t *testing.T) {
	needGuest(t)
	_, _, _, err := shell(t, GuestConfig{Timeout: time.Second}, "while :; do :; done")
	if err == nil || !strings.Contains(err.Error(), "not finished after 1s") {
		t.Errorf("error %v; want the timeout", err)
	}
	expectNothingLeft(t)
}

// notify calls back on the first bytes that are written to it.
type notify struct {
	bytes.Buffer
	once sync.Once
	f    func()
}

func (n *notify) Write(p []byte) (int, error) {
	n.once.Do(n.f)
	return n.Buffer.Write(p)
}

func TestGuestStreamsLiveAndUnchanged(t *testing.T) {
	needGuest(t)
	artifacts := t.TempDir()
	// The command goes on only when its first word has been seen here, line end included.
	first := &notify{f: func() {
		if err := os.WriteFile(filepath.Join(artifacts, "seen"), nil, 0o644); err != nil {
			t.Error(err)
		}
	}}
	var problems bytes.Buffer
	exit, err := RunGuest(t.Context(), GuestConfig{
		Command: []string{"sh", "-c", `printf 'first\n'; until [ -e "$A/seen" ]; do :; done
			printf 'tab\there\r\n\000\377\n\n'; printf '%s|' "$0" "$PWD" "$Q"; seq 20000; printf 'no newline'
			printf problem >&2`, "a 'quoted' $word"},
		Env: []string{"A=" + artifacts, "Q=it's \"$HOME\"\n"}, Dir: "/usr/share", Artifacts: artifacts,
		Timeout: guestTimeout, Stdout: first, Stderr: &problems,
	})
	if err != nil || exit != 0 {
		t.Fatalf("exit %d, error %v", exit, err)
	}
	numbers, err := exec.Command("seq", "20000").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "first\ntab\there\r\n\x00\xff\n\n" + "a 'quoted' $word|/usr/share|it's \"$HOME\"\n|" + string(numbers) + "no newline"
	if got := first.String(); got != want {
		t.Errorf("output differs: %d bytes, want %d; begins %q, ends %q", len(got), len(want), got[:min(80, len(got))], got[max(0, len(got)-80):])
	}
	if problems.String() != "problem" {
		t.Errorf("standard error %q", problems.String())
	}
}

func TestGuestWritesToTheArtifactsOnly(t *testing.T) {
	needGuest(t)
	artifacts, other := t.TempDir(), t.TempDir()
	exit, out, problems, err := shell(t, GuestConfig{Artifacts: artifacts, Env: []string{"A=" + artifacts, "O=" + other}},
		`set -e; for d in "$A" "$O" /etc /var/tmp /run /tmp; do mkdir -p "$d"; echo text >"$d/guest-was-here"; cat "$d/guest-was-here"; done`)
	if err != nil || exit != 0 || strings.Count(out, "text\n") != 6 {
		t.Fatalf("exit %d, error %v, output %s%s", exit, err, out, problems)
	}
	if text, err := os.ReadFile(filepath.Join(artifacts, "guest-was-here")); err != nil || string(text) != "text\n" {
		t.Errorf("artifact %q, %v", text, err)
	}
	for _, d := range []string{other, "/etc", "/var/tmp", "/run", "/tmp"} {
		if _, err := os.Stat(filepath.Join(d, "guest-was-here")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the guest wrote there (%v)", d, err)
		}
	}
	expectNothingLeft(t)
}

func TestGuestEndsWithItsContext(t *testing.T) {
	needGuest(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := RunGuest(ctx, GuestConfig{Command: []string{"sh", "-c", "echo up; sleep 600 & sleep 600"},
		Timeout: guestTimeout, Stdout: &notify{f: cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
	expectNothingLeft(t)
}

func TestGuestRejectsBadConfigurations(t *testing.T) {
	for _, c := range []struct {
		name   string
		config GuestConfig
		want   string
	}{
		{"no command", GuestConfig{}, "no command"},
		{"bad memory", GuestConfig{Command: []string{"true"}, Memory: "much"}, `memory "much"`},
		{"more memory than there is", GuestConfig{Command: []string{"true"}, Memory: "4000000000M"}, "MiB free"},
		{"artifacts folder with a blank", GuestConfig{Command: []string{"true"}, Artifacts: "/tmp/a b"}, "blanks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			needGuest(t)
			_, err := RunGuest(t.Context(), c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one with %q", err, c.want)
			}
		})
	}
}

func TestMarkedStream(t *testing.T) {
	for _, c := range []struct {
		name, in, out string
		status        int
		ok            bool
	}{
		{"status only", "\x00M 3\n", "", 3, true},
		{"after text", "text\n\x00M 0\n", "text\n", 0, true},
		{"looks like it", "\x00\x00M\x00Mx\n", "\x00\x00M\x00Mx\n", 0, false},
		{"cut in the number", "text\x00M 4", "text", 0, false},
		{"no number", "text\x00M x\n", "text", 0, false},
	} {
		for size := 1; size <= len(c.in); size++ {
			var out bytes.Buffer
			m := &markedStream{to: &out, mark: "M"}
			for rest := []byte(c.in); len(rest) > 0; {
				n, err := m.Write(rest[:min(size, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			status, ok := m.status()
			if out.String() != c.out || status != c.status || ok != c.ok {
				t.Errorf("%s, written by %d: %q, %d, %v", c.name, size, out.String(), status, ok)
			}
		}
	}
}

// expectNothingLeft looks for processes and folders of this process's guests.
func expectNothingLeft(t *testing.T) {
	t.Helper()
	if left := processesOf(t, runMark(), guestProgram); len(left) > 0 {
		t.Errorf("guest processes are left: %v", left)
	}
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+strings.ReplaceAll(runMark(), ":", "-")+"*"))
	if err != nil || len(dirs) > 0 {
		t.Errorf("folders are left: %v, %v", dirs, err)
	}
}

// processesOf lists the processes with a run's mark whose command line has the given text.
func processesOf(t *testing.T, mark, text string) []string {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environs {
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if m, ok := markOf(path); ok && m == mark && err == nil && bytes.Contains(line, []byte(text)) {
			found = append(found, path+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}
