package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Waiting times for a dump that the kernel marks as interrupted
// (side-effects.md §2.1): doubled from the first to the longest, given up after
// the patience is used up.
const (
	firstDumpWait   = 20 * time.Millisecond
	longestDumpWait = time.Second
	dumpPatience    = 8 * time.Second
)

// conn is a socket of rtnetlink(7).
type conn struct {
	sockets map[int]*nl.SocketHandle
	log     *slog.Logger
	// execute sends a request and hands every reply of the type to each.
	execute func(r *nl.NetlinkRequest, reply uint16, each func(message []byte) bool) error
}

func dial(log *slog.Logger) (*conn, error) {
	socket, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	if err := prepare(socket); err != nil {
		socket.Close()
		return nil, err
	}
	c := &conn{log: log, sockets: map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: socket}}}
	c.execute = c.executeOnSocket
	return c, nil
}

// prepare bounds the waiting, and asks for the kernel's texts with its errors and
// for strict checks, without which it ignores what a dump request filters by.
func prepare(socket *nl.NetlinkSocket) error {
	timeout := unix.NsecToTimeval((10 * time.Second).Nanoseconds())
	if err := socket.SetSendTimeout(&timeout); err != nil {
		return err
	}
	if err := socket.SetReceiveTimeout(&timeout); err != nil {
		return err
	}
	if err := socket.SetExtAck(true); err != nil {
		return fmt.Errorf("NETLINK_EXT_ACK: %w", err)
	}
	if err := unix.SetsockoptInt(socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1); err != nil {
		return fmt.Errorf("NETLINK_GET_STRICT_CHK: %w", err)
	}
	return nil
}

func (c *conn) close() {
	for _, s := range c.sockets {
		s.Close()
	}
}

func (c *conn) executeOnSocket(r *nl.NetlinkRequest, reply uint16, each func([]byte) bool) error {
	r.Sockets = c.sockets
	return r.ExecuteIter(unix.NETLINK_ROUTE, reply, each)
}

// request builds a message: its type, its flags besides NLM_F_REQUEST, and the
// family's header with the attributes.
func request(command, flags int, parts ...nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(command, flags)
	for _, p := range parts {
		r.AddData(p)
	}
	return r
}

// change sends a request and waits until the kernel has acknowledged it.
func (c *conn) change(r *nl.NetlinkRequest) error {
	r.Flags |= unix.NLM_F_ACK
	return named(c.execute(r, 0, func([]byte) bool { return true }))
}

// dump sends a dump request and decodes the replies; decode says whether the
// message counts. An interrupted dump may lack objects, so it is made again.
func dump[T any](ctx context.Context, c *conn, r *nl.NetlinkRequest, reply uint16, decode func(message []byte) (T, bool)) ([]T, error) {
	r.Flags |= unix.NLM_F_DUMP
	deadline := time.Now().Add(dumpPatience)
	for wait := firstDumpWait; ; wait = min(2*wait, longestDumpWait) {
		var found []T
		err := c.execute(r, reply, func(message []byte) bool {
			if object, counts := decode(message); counts {
				found = append(found, object)
			}
			return true
		})
		switch {
		case err == nil:
			return found, nil
		case !errors.Is(err, nl.ErrDumpInterrupted):
			return nil, named(err)
		case time.Now().Add(wait).After(deadline):
			return nil, fmt.Errorf("given up after %s: %w", dumpPatience, err)
		}
		c.log.Debug("kernel dump was interrupted, doing it again", "request", r.Type, "wait", wait)
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// named puts the name of the errno in front of an error that has one.
func named(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	name := unix.ErrnoName(errno)
	if errno == unix.EOPNOTSUPP {
		name = "EOPNOTSUPP" // ENOTSUP is the same number
	}
	return fmt.Errorf("%s: %w", name, err)
}

// tolerate makes success of an error that says that there is nothing left to do.
func tolerate(err error, done ...syscall.Errno) error {
	for _, errno := range done {
		if errors.Is(err, errno) {
			return nil
		}
	}
	return err
}
