package netns

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrClosed is returned by everything that needs a node which has been closed.
var ErrClosed = errors.New("node is closed")

// thread is one OS thread that lives in a node's namespaces. A program started on it is in all of them. (A Go process cannot
// enter a mount namespace as a whole: setns(2) refuses a caller that shares its root and working directory with other
// threads, so this one stops sharing them first and is never given back to the scheduler.)
type thread struct {
	calls chan func()
	quit  chan struct{}
	ended chan struct{}
}

// enter starts a thread in the namespaces of process pid.
func enter(pid int) (*thread, error) {
	t := &thread{calls: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{})}
	entered := make(chan error, 1)
	go func() {
		defer close(t.ended)
		runtime.LockOSThread()
		err := setNamespaces(pid)
		entered <- err
		if err == nil {
			t.serve()
		}
	}()
	if err := <-entered; err != nil {
		return nil, fmt.Errorf("enter the namespaces of process %d: %w", pid, err)
	}
	return t, nil
}

func (t *thread) serve() {
	for {
		select {
		case call := <-t.calls:
			call()
		case <-t.quit:
			return
		}
	}
}

// do runs f on the thread and waits for it.
func (t *thread) do(f func() error) error {
	result := make(chan error, 1)
	select {
	case t.calls <- func() { result <- f() }:
		return <-result
	case <-t.ended:
		return ErrClosed
	}
}

func (t *thread) end() {
	close(t.quit)
	<-t.ended
}

// setNamespaces moves the calling thread. All descriptors are opened first, because /proc is another one afterwards.
// For the process namespace the move concerns the thread's children only, see setns(2).
func setNamespaces(pid int) error {
	names := []string{"net", "uts", "pid", "mnt"}
	var fds []int
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for _, name := range names {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the %s namespace: %w", name, err)
		}
		fds = append(fds, fd)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare root and working directory: %w", err)
	}
	for i, fd := range fds {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("enter the %s namespace: %w", names[i], err)
		}
	}
	return nil
}
