// Package journal records what changes in a network namespace's kernel state, in
// the order in which it changes: links, addresses, routes, rules and neighbours.
//
// One socket joins all the multicast groups, since the messages of several sockets
// have no common order.
//
// What the kernel does not tell is not there: NDP and ARP proxies, IPv4 routes
// that vanish with their device's state or last address, sysctls. It tells of an
// IPv6 address later than of what follows it, since duplicate address detection
// runs first, even where it is off; the route that comes with the address is
// reported at once (see [Appears]).
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/netns/journal/history"
	"ovn-bgp-agent/netns/journal/rtnl"
)

// receiveBuffer is for some ten thousand messages that arrive while the reader is
// kept from running.
const receiveBuffer = 64 << 20

// Mark is a position in a [Journal].
type Mark = history.Mark

// Journal is the record of one namespace, safe for concurrent use.
type Journal struct {
	socket   *os.File
	log      *slog.Logger
	record   *history.Log[Entry]
	links    *links        // used by the reader only
	appeared addresses     // used by the reader only
	done     chan struct{} // closed when the reader has ended

	mu    sync.Mutex
	hooks map[string][]func(Entry) // by device
}

// Open begins to record the namespace; netns.None() is the caller's. Everything
// that changes after it returns is recorded. Needs CAP_NET_ADMIN for a large
// receive buffer.
func Open(ns netns.NsHandle, log *slog.Logger) (*Journal, error) {
	fd, err := openSocket(ns)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	known, err := readLinks(ns)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", errors.Join(err, unix.Close(fd)))
	}
	j := &Journal{
		socket:   os.NewFile(uintptr(fd), "rtnetlink"), // non-blocking: reads wait in the poller and end with Close
		log:      log,
		record:   history.New[Entry](),
		links:    known,
		appeared: addresses{},
		done:     make(chan struct{}),
		hooks:    map[string][]func(Entry){},
	}
	go j.read()
	return j, nil
}

// Close ends the recording. What was recorded stays readable.
func (j *Journal) Close() error {
	err := j.socket.Close()
	<-j.done
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// OnAddr calls f for every address that appears on the device (see [Appears]), on
// the goroutine that reads the kernel's messages, and before the entry can be seen
// by others: a state read in f is that of the moment, and f should be quick.
func (j *Journal) OnAddr(device string, f func(Entry)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.hooks[device] = append(j.hooks[device], f)
}

// Now is the position after the last entry.
func (j *Journal) Now() Mark { return j.record.Now() }

// Since returns the entries after the mark, oldest first. The caller must not
// change them.
func (j *Journal) Since(mark Mark) []Entry { return j.record.Since(mark) }

// WaitFor returns nil once cond holds; it is asked at the start and after new
// entries. When ctx ends first its cause is returned.
func (j *Journal) WaitFor(ctx context.Context, cond func() bool) error {
	return j.record.WaitFor(ctx, cond)
}

func (j *Journal) read() {
	defer close(j.done)
	buffer := make([]byte, 1<<16) // larger than any notification
	for {
		n, err := j.socket.Read(buffer)
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case errors.Is(err, unix.ENOBUFS):
			j.log.Error("journal: the kernel dropped messages, the record has a hole")
			j.append(Entry{Kind: Overflow, Text: "messages were lost"})
		case err != nil:
			j.log.Error("journal: the record ends", "error", err)
			j.append(Entry{Kind: Overflow, Text: "the record ends: " + err.Error()})
			return
		default:
			j.datagram(buffer[:n])
		}
	}
}

func (j *Journal) datagram(data []byte) {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		j.log.Error("journal: malformed datagram", "error", err)
		j.append(Entry{Kind: Overflow, Text: "malformed datagram: " + err.Error()})
		return
	}
	for _, message := range messages {
		m, err := rtnl.Parse(message.Header.Type, message.Data, j.links.name)
		if errors.Is(err, rtnl.ErrUnknown) {
			continue // NLMSG_DONE and the like
		}
		if err != nil {
			j.log.Error("journal: message not understood", "error", err)
			j.append(Entry{Kind: Overflow, Text: "message not understood: " + err.Error()})
			continue
		}
		entry := entryOf(m)
		entry.Permanent = j.links.learn(m)
		j.runHooks(entry)
		j.append(entry)
	}
}

func (j *Journal) runHooks(e Entry) {
	if !j.appeared.learn(e) {
		return
	}
	j.mu.Lock()
	hooks := j.hooks[e.Dev]
	j.mu.Unlock()
	for _, hook := range hooks {
		hook(e)
	}
}

func (j *Journal) append(e Entry) {
	j.record.Append(func(seq int) Entry {
		e.Seq, e.Time = seq, time.Now()
		return e
	})
}
