package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// linkMessage is a link as the kernel tells it: other devices are given by index.
type linkMessage struct {
	name   string
	link   node.Link
	parent int // IFLA_LINK, 0 when it is in another namespace
	master int
}

// decodeLink reads RTM_NEWLINK and RTM_DELLINK. Messages of family AF_BRIDGE are
// about a port of a bridge and come and go with it, not with the device.
func decodeLink(message []byte) (linkMessage, bool) {
	if len(message) < unix.SizeofIfInfomsg {
		return linkMessage{}, false
	}
	header := nl.DeserializeIfInfomsg(message)
	if header.Family != unix.AF_UNSPEC {
		return linkMessage{}, false
	}
	m := linkMessage{link: node.Link{Index: int(header.Index), Up: header.Flags&unix.IFF_UP != 0}}
	elsewhere := false
	for kind, value := range attributes(message[unix.SizeofIfInfomsg:]) {
		switch kind {
		case unix.IFLA_IFNAME:
			m.name = textOf(value)
		case unix.IFLA_ADDRESS:
			m.link.MAC = net.HardwareAddr(value).String()
		case unix.IFLA_LINK:
			m.parent = int(uint32Of(value))
		case unix.IFLA_LINK_NETNSID:
			elsewhere = true
		case unix.IFLA_MASTER:
			m.master = int(uint32Of(value))
		case unix.IFLA_LINKINFO:
			decodeLinkInfo(&m.link, value)
		}
	}
	if elsewhere || m.link.Type != kindVLAN {
		m.parent = 0
	}
	return m, m.name != ""
}

func decodeLinkInfo(l *node.Link, info []byte) {
	var data []byte
	for kind, value := range attributes(info) {
		switch kind {
		case unix.IFLA_INFO_KIND:
			l.Type = textOf(value)
		case unix.IFLA_INFO_DATA:
			data = value
		}
	}
	switch l.Type {
	case kindVRF:
		for kind, value := range attributes(data) {
			if kind == unix.IFLA_VRF_TABLE {
				l.Table = uint32Of(value)
			}
		}
	case kindVLAN:
		l.VLAN = decodeVLAN(data)
	}
}

// decodeVLAN is the id of an 802.1Q device, 0 for one of 802.1ad.
func decodeVLAN(data []byte) uint16 {
	id, protocol := uint16(0), uint16(unix.ETH_P_8021Q)
	for kind, value := range attributes(data) {
		switch {
		case kind == unix.IFLA_VLAN_ID && len(value) >= 2:
			id = binary.NativeEndian.Uint16(value)
		case kind == unix.IFLA_VLAN_PROTOCOL && len(value) >= 2:
			protocol = binary.BigEndian.Uint16(value)
		}
	}
	if protocol != unix.ETH_P_8021Q {
		return 0
	}
	return id
}

// links are all devices of the namespace.
type links struct {
	byName map[string]node.Link
	names  map[int]string
}

// readLinks dumps the links and renews the cache of indexes.
func (k *Kernel) readLinks(ctx context.Context) (links, error) {
	request := request(unix.RTM_GETLINK, 0, nl.NewIfInfomsg(unix.AF_UNSPEC))
	messages, err := dump(ctx, k.conn, request, unix.RTM_NEWLINK, decodeLink)
	if err != nil {
		return links{}, fmt.Errorf("read links: %w", err)
	}
	all := links{byName: make(map[string]node.Link, len(messages)), names: make(map[int]string, len(messages))}
	indexes := make(map[string]int, len(messages))
	for _, m := range messages {
		all.names[m.link.Index] = m.name
		indexes[m.name] = m.link.Index
	}
	for _, m := range messages {
		all.byName[m.name] = m.resolve(all.names)
	}
	k.mu.Lock()
	k.indexes = indexes
	k.mu.Unlock()
	return all, nil
}

// resolve puts the names of other devices in place of their indexes.
func (m linkMessage) resolve(names map[int]string) node.Link {
	l := m.link
	l.Parent, l.Master = names[m.parent], names[m.master]
	return l
}

// index of a device, from the cache or from a new dump; ENODEV when there is no
// such device.
func (k *Kernel) index(ctx context.Context, dev string) (int, error) {
	if index, ok := k.cachedIndex(dev); ok {
		return index, nil
	}
	all, err := k.readLinks(ctx)
	if err != nil {
		return 0, err
	}
	link, ok := all.byName[dev]
	if !ok {
		return 0, named(fmt.Errorf("device %q: %w", dev, unix.ENODEV))
	}
	return link.Index, nil
}

func (k *Kernel) cachedIndex(dev string) (int, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	index, ok := k.indexes[dev]
	return index, ok
}

func (k *Kernel) forgetIndexes() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.indexes = nil
}

// onDevice calls act with the index of a device, once more when the kernel no
// longer knows the index and the device has another one now.
func (k *Kernel) onDevice(ctx context.Context, dev string, act func(index int) error) error {
	index, err := k.index(ctx, dev)
	if err != nil {
		return err
	}
	first := act(index)
	if !errors.Is(first, unix.ENODEV) {
		return first
	}
	k.forgetIndexes()
	again, err := k.index(ctx, dev)
	if err != nil {
		return err
	}
	if again == index {
		return first
	}
	return act(again)
}
