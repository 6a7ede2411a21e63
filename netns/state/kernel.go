package state

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/netns/journal/rtnl"
)

// readKernel takes one dump per kind of object.
func (r Reader) readKernel(s State) error {
	ns := r.NetNS
	if ns <= 0 {
		ns = netns.None()
	}
	socket, err := nl.GetNetlinkSocketAt(ns, netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening a netlink socket: %w", err)
	}
	defer socket.Close()
	d := dumper{sockets: map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: socket}}, names: map[int]string{}}
	if err := d.learnNames(); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	for _, section := range []struct {
		name     string
		request  uint16
		reply    uint16
		header   nl.NetlinkRequestData
		selected func(rtnl.Message) bool
	}{
		{Links, unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC), isLink},
		{Addresses, unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfInfomsg(unix.AF_UNSPEC), isAddress},
		{Rules, unix.RTM_GETRULE, unix.RTM_NEWRULE, nl.NewIfInfomsg(unix.AF_INET), isRule},
		{Rules, unix.RTM_GETRULE, unix.RTM_NEWRULE, nl.NewIfInfomsg(unix.AF_INET6), isRule},
		{Routes, unix.RTM_GETROUTE, unix.RTM_NEWROUTE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET}}, r.isRoute},
		{Routes, unix.RTM_GETROUTE, unix.RTM_NEWROUTE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET6}}, r.isRoute},
		{Neighbours, unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, &neighHeader{}, isNeighbour},
		{Proxies, unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, &neighHeader{flags: unix.NTF_PROXY}, isProxy},
	} {
		messages, err := d.dump(section.request, section.reply, section.header)
		if err != nil {
			return fmt.Errorf("%s: %w", section.name, err)
		}
		for _, m := range messages {
			if section.selected(m) {
				s[section.name] = append(s[section.name], m.Text)
			}
		}
	}
	return nil
}

func isLink(m rtnl.Message) bool { return m.Flags&unix.IFF_LOOPBACK == 0 }

func isAddress(m rtnl.Message) bool { return m.Scope == unix.RT_SCOPE_UNIVERSE }

// isRule leaves out the rules of every namespace (ip-rule(8)).
func isRule(m rtnl.Message) bool {
	return m.Priority != 0 && m.Priority != 32766 && m.Priority != 32767
}

func (r Reader) isRoute(m rtnl.Message) bool {
	switch {
	case m.Flags&unix.RTM_F_CLONED != 0 || m.Prefix.Addr().IsMulticast() || m.Prefix.Addr().IsLinkLocalUnicast() && m.Family == unix.AF_INET6:
		return false
	case m.Table == unix.RT_TABLE_LOCAL:
		return false
	case m.Table == unix.RT_TABLE_MAIN && !r.MainTable:
		return false
	}
	return m.Proto != unix.RTPROT_KERNEL || r.KernelRoutes
}

func isNeighbour(m rtnl.Message) bool {
	return m.State == unix.NUD_PERMANENT && m.Flags&unix.NTF_PROXY == 0 &&
		m.Family != unix.AF_BRIDGE && !m.Prefix.Addr().IsMulticast()
}

func isProxy(m rtnl.Message) bool { return m.Flags&unix.NTF_PROXY != 0 }

// dumper reads kernel tables through one socket.
type dumper struct {
	sockets map[int]*nl.SocketHandle
	names   map[int]string // by interface index
}

func (d dumper) learnNames() error {
	links, err := d.dump(unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC))
	for _, link := range links {
		d.names[link.Index] = link.Dev
	}
	return err
}

// dump asks again when a change of the table interrupted it.
func (d dumper) dump(request, reply uint16, header nl.NetlinkRequestData) ([]rtnl.Message, error) {
	for {
		req := nl.NewNetlinkRequest(int(request), unix.NLM_F_DUMP)
		req.Sockets = d.sockets
		req.AddData(header)
		payloads, err := req.Execute(unix.NETLINK_ROUTE, reply)
		if errors.Is(err, nl.ErrDumpInterrupted) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return d.parse(reply, payloads)
	}
}

func (d dumper) parse(messageType uint16, payloads [][]byte) ([]rtnl.Message, error) {
	messages := make([]rtnl.Message, 0, len(payloads))
	for _, payload := range payloads {
		m, err := rtnl.Parse(messageType, payload, func(index int) string { return d.names[index] })
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// neighHeader is struct ndmsg of rtnetlink(7).
type neighHeader struct{ flags byte }

const neighHeaderSize = 12

// Len implements nl.NetlinkRequestData.
func (h *neighHeader) Len() int { return neighHeaderSize }

// Serialize implements nl.NetlinkRequestData.
func (h *neighHeader) Serialize() []byte {
	header := make([]byte, neighHeaderSize)
	header[10] = h.flags
	return header
}
