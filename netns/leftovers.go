package netns

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// markVariable is in the environment of every process that the testbed starts; its value names the run (see runMark).
const markVariable = "OVN_BGP_TESTBED"

// folderPrefix begins the names of the temporary folders of runs, "<prefix><pid>-<start time>-<random>".
const folderPrefix = "ovn-bgp-testbed-"

// runMark names this process for as long as it lives: "<pid>:<start time in clock ticks after boot>", so that a reused
// process number is not taken for the run.
func runMark() string {
	pid := os.Getpid()
	return fmt.Sprintf("%d:%s", pid, startTime(pid))
}

// startTime is field 22 of proc_pid_stat(5), empty when there is no such process.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command name (field 2) may hold blanks and parentheses: fields are counted from its last ")".
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const afterName = 22 - 3
	if len(fields) <= afterName {
		return ""
	}
	return fields[afterName]
}

// alive tells whether the run with that mark still is.
func alive(mark string) bool {
	pid, start, ok := strings.Cut(mark, ":")
	n, err := strconv.Atoi(pid)
	return ok && err == nil && start != "" && startTime(n) == start
}

func makeRunFolder() (string, error) {
	name := folderPrefix + strings.ReplaceAll(runMark(), ":", "-") + "-*"
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return "", fmt.Errorf("folder of the run: %w", err)
	}
	return dir, nil
}

// Clean kills the processes and removes the temporary folders of runs that were killed. What belongs to a run that is alive stays.
// It returns one line per thing removed.
func Clean() ([]string, error) {
	killed, err := killLeftovers()
	removed, err2 := removeLeftovers()
	return append(killed, removed...), errors.Join(err, err2)
}

func killLeftovers() ([]string, error) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	for _, path := range environs {
		mark, ok := markOf(path)
		if !ok || alive(mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill process %d of run %s: %w", pid, mark, err))
			continue
		}
		done = append(done, fmt.Sprintf("killed process %d of run %s", pid, mark))
	}
	return done, errors.Join(errs...)
}

// markOf reads the mark from a process's environment; processes of other users cannot be read and are not ours to end.
func markOf(environ string) (string, bool) {
	text, err := os.ReadFile(environ)
	if err != nil {
		return "", false
	}
	for _, v := range bytes.Split(text, []byte{0}) {
		if value, ok := strings.CutPrefix(string(v), markVariable+"="); ok {
			return value, true
		}
	}
	return "", false
}

func removeLeftovers() ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	for _, dir := range dirs {
		fields := strings.Split(strings.TrimPrefix(filepath.Base(dir), folderPrefix), "-")
		if len(fields) != 3 || alive(fields[0]+":"+fields[1]) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, "removed "+dir)
	}
	return done, errors.Join(errs...)
}
