package kernel

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

type linkChange struct {
	name     string
	link     node.Link
	present  bool
	overflow bool
}

// watched collects what WatchLinks reports in the background.
type watched struct {
	t       *testing.T
	changes chan linkChange
	release chan struct{} // ends the callback about a device named holdName
}

const holdName = "hold"

// watch runs WatchLinks until the test ends.
func (l *lab) watch() *watched {
	w := &watched{l.t, make(chan linkChange, 10000), make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- l.WatchLinks(ctx, func(name string, link node.Link, present bool) {
			w.changes <- linkChange{name: name, link: link, present: present}
			if name == holdName {
				<-w.release
			}
		}, func() { w.changes <- linkChange{overflow: true} })
	}()
	l.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				l.t.Errorf("WatchLinks: %v", err)
			}
		case <-time.After(10 * time.Second):
			l.t.Error("WatchLinks does not end with its context")
		}
	})
	return w
}

// until waits for a report and returns those before it.
func (w *watched) until(what string, is func(linkChange) bool) (before []linkChange) {
	w.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case c := <-w.changes:
			if is(c) {
				return before
			}
			before = append(before, c)
		case <-deadline:
			w.t.Fatalf("not reported: %s; reported: %+v", what, before)
		}
	}
}

func (w *watched) noneIs(before []linkChange, what string, is func(linkChange) bool) {
	w.t.Helper()
	for _, c := range before {
		if is(c) {
			w.t.Errorf("reported: %s: %+v", what, c)
		}
	}
}

func TestWatchLinks(t *testing.T) {
	l := newLab(t)
	w := l.watch()

	l.ip("link add v0 type veth peer name v1")
	w.until("v0 is new", func(c linkChange) bool {
		return c.name == "v0" && c.present && c.link.Type == "veth" && c.link.Index != 0 && c.link.MAC != "" && !c.link.Up
	})
	l.ip("link set v0 up")
	w.until("v0 is up", func(c linkChange) bool { return c.name == "v0" && c.present && c.link.Up })
	l.ip("link set v0 master " + bigBridge)
	w.until("v0 has a master", func(c linkChange) bool { return c.name == "v0" && c.link.Master == bigBridge })

	goneV0 := func(c linkChange) bool { return c.name == "v0" && !c.present }
	l.ip("link set v0 nomaster")
	w.noneIs(w.until("v0 has no master", func(c linkChange) bool { return c.name == "v0" && c.link.Master == "" }), "v0 is gone", goneV0)
	l.ip("link add fence type bridge")
	w.noneIs(w.until("fence", func(c linkChange) bool { return c.name == "fence" }), "v0 is gone", goneV0)

	l.ip("link set v0 down")
	l.ip("link set v0 name v2")
	w.noneIs(w.until("v0 is gone", goneV0), "v2 before v0 is gone", func(c linkChange) bool { return c.name == "v2" })
	w.until("v2 is new", func(c linkChange) bool { return c.name == "v2" && c.present })
	l.ip("link del v2")
	w.until("v2 is gone", func(c linkChange) bool { return c.name == "v2" && !c.present })
}

// TestWatchFromOpen: nothing that happened since Open is missed.
func TestWatchFromOpen(t *testing.T) {
	l := newLab(t)
	l.ip("link add early type bridge")
	l.watch().until("early is new", func(c linkChange) bool { return c.name == "early" && c.present })
}

// TestWatchOverflow: lost reports are said to be lost, and later ones arrive.
func TestWatchOverflow(t *testing.T) {
	l := newLab(t)
	if err := unix.SetsockoptInt(l.events.GetFd(), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096); err != nil {
		t.Fatal(err)
	}
	w := l.watch()
	l.ip("link add " + holdName + " type bridge")
	w.until("hold is new", func(c linkChange) bool { return c.name == holdName })
	for i := range 50 {
		link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("many%d", i)}}
		if err := netlink.LinkAdd(link); err != nil {
			t.Fatal(err)
		}
	}
	close(w.release)
	w.until("overflow", func(c linkChange) bool { return c.overflow })
	l.ip("link set many49 name late")
	w.until("many49 is gone", func(c linkChange) bool { return c.name == "many49" && !c.present })
	w.until("late is new", func(c linkChange) bool { return c.name == "late" && c.present })
}

// TestWatchRenewsIndexes: a name that moved to another device is not trusted.
func TestWatchRenewsIndexes(t *testing.T) {
	l := newLab(t)
	l.ip("link add other type bridge")
	l.ip("link set other up")
	w := l.watch()
	l.ip("link set br-ex down")
	l.ip("link set br-ex name former")
	l.ip("link set other down")
	l.ip("link set other name br-ex")
	w.until("br-ex is new", func(c linkChange) bool { return c.name == bridge && c.present })
	want, err := netlink.LinkByName(bridge)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the address is on the device that has the name now", func() bool {
		index, err := l.index(context.Background(), bridge)
		return err == nil && index == want.Attrs().Index
	})
}
