package ovsdb

import (
	"net"
	"sync"
	"time"
)

// linkBuffer is how many chunks a direction holds while it is delayed or
// frozen; beyond it the sender is blocked, as by a full socket buffer.
const linkBuffer = 64

// link is one connection through a Proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn // server is nil if the backend cannot be reached
	once           sync.Once
	done           chan struct{}
}

type chunk struct {
	data []byte
	due  time.Time
}

// cut ends both sides, with a reset where the transport has one.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.done)
		for _, c := range []net.Conn{l.client, l.server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				// An error means that the connection is gone already.
				_ = tcp.SetLinger(0)
			}
			if c != nil {
				_ = c.Close()
			}
		}
	})
}

// pump carries one direction; limited is the one that CutAfter counts.
func (l *link) pump(to, from net.Conn, limited bool) {
	chunks := make(chan chunk, linkBuffer)
	var reader sync.WaitGroup
	reader.Go(func() { l.read(from, chunks) })
	for c := range chunks {
		if !l.deliver(to, c, limited) {
			break
		}
	}
	l.cut()
	reader.Wait()
}

func (l *link) read(from net.Conn, chunks chan<- chunk) {
	defer close(chunks)
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			_, delay := l.proxy.gate()
			select {
			case chunks <- chunk{buffer[:n], time.Now().Add(delay)}:
			case <-l.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes a chunk when it is due and nothing is frozen; false ends the
// link.
func (l *link) deliver(to net.Conn, c chunk, limited bool) bool {
	if wait := time.Until(c.due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
	thawed, _ := l.proxy.gate()
	select {
	case <-thawed:
	case <-l.done:
		return false
	}
	pass, cut := len(c.data), false
	if limited {
		pass, cut = l.proxy.spend(len(c.data))
	}
	_, err := to.Write(c.data[:pass])
	return err == nil && !cut
}
