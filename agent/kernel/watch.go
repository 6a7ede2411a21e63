package kernel

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// WatchLinks reports changes of devices since [Open] until ctx ends, then it
// returns nil. changed gets every device that is new, changed or (present false)
// gone; a renamed one is gone under its old name. overflow is called when the
// kernel had to drop changes (ENOBUFS): anything may have changed then, and the
// report goes on. The callbacks run on the calling goroutine and must be quick.
// It can be called once.
func (k *Kernel) WatchLinks(ctx context.Context, changed func(name string, link node.Link, present bool), overflow func()) error {
	stop := context.AfterFunc(ctx, k.events.Close)
	defer stop()
	watch := linkWatch{kernel: k, changed: changed}
	if err := watch.learn(ctx); err != nil {
		return err
	}
	for {
		messages, from, err := k.events.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS):
			k.config.Log.Warn("the kernel dropped reports of link changes")
			if err := watch.learn(ctx); err != nil {
				return err
			}
			overflow()
		case err != nil:
			return fmt.Errorf("watch links: %w", named(err))
		case from.Pid != 0:
			// Only the kernel may say what a device is.
		default:
			for _, m := range messages {
				watch.take(m)
			}
		}
	}
}

// linkWatch remembers the names of devices: a message names other devices, and
// itself before a renaming, by index.
type linkWatch struct {
	kernel  *Kernel
	names   map[int]string
	changed func(name string, link node.Link, present bool)
}

func (w *linkWatch) learn(ctx context.Context) error {
	all, err := w.kernel.readLinks(ctx)
	w.names = all.names
	return err
}

func (w *linkWatch) take(m syscall.NetlinkMessage) {
	message, ok := decodeLink(m.Data)
	if !ok {
		return
	}
	index, name := message.link.Index, message.name
	switch m.Header.Type {
	case unix.RTM_NEWLINK:
		if old, known := w.names[index]; known && old != name {
			w.gone(index, old, node.Link{Index: index})
		}
		w.names[index] = name
		w.changed(name, message.resolve(w.names), true)
	case unix.RTM_DELLINK:
		link := message.resolve(w.names)
		w.gone(index, name, link)
	}
}

func (w *linkWatch) gone(index int, name string, link node.Link) {
	delete(w.names, index)
	w.kernel.forgetIndexes()
	w.changed(name, link, false)
}
