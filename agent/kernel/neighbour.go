package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// neighbour is an entry of a neighbour table, or a proxy.
type neighbour struct {
	index     int
	ip        netip.Addr
	mac       string
	permanent bool
	proxy     bool
}

func decodeNeighbour(message []byte) (neighbour, bool) {
	if len(message) < sizeofNdMsg {
		return neighbour{}, false
	}
	n := neighbour{
		index:     int(uint32Of(message[4:])),
		permanent: message[8]&unix.NUD_PERMANENT != 0, // low byte of ndm_state
		proxy:     message[10]&unix.NTF_PROXY != 0,
	}
	if _, ip := unspecified(message[0]); !ip {
		return neighbour{}, false
	}
	for kind, value := range attributes(message[sizeofNdMsg:]) {
		switch kind {
		case unix.NDA_DST:
			n.ip = addressOf(value)
		case unix.NDA_LLADDR:
			n.mac = net.HardwareAddr(value).String()
		}
	}
	return n, n.ip.IsValid()
}

// readNeighbours lists the permanent neighbours.
func (k *Kernel) readNeighbours(ctx context.Context) ([]neighbour, error) {
	neighbours, err := k.dumpNeighbours(ctx, 0, func(n neighbour) bool { return n.permanent && !n.proxy })
	if err != nil {
		return nil, fmt.Errorf("read neighbours: %w", err)
	}
	return neighbours, nil
}

// readProxies lists the NDP proxies; the kernel dumps them apart from neighbours.
func (k *Kernel) readProxies(ctx context.Context) ([]neighbour, error) {
	proxies, err := k.dumpNeighbours(ctx, unix.NTF_PROXY, func(n neighbour) bool { return n.proxy && n.ip.Is6() })
	if err != nil {
		return nil, fmt.Errorf("read neighbour proxies: %w", err)
	}
	return proxies, nil
}

func (k *Kernel) dumpNeighbours(ctx context.Context, flags uint8, keep func(neighbour) bool) ([]neighbour, error) {
	request := request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{Flags: flags})
	return dump(ctx, k.conn, request, unix.RTM_NEWNEIGH, func(message []byte) (neighbour, bool) {
		n, ok := decodeNeighbour(message)
		return n, ok && keep(n)
	})
}

func neighbourRequest(command, flags, index int, ip netip.Addr, entryFlags uint8, more ...nl.NetlinkRequestData) *nl.NetlinkRequest {
	header := &netlink.Ndmsg{Family: family(ip), Index: uint32(index), State: unix.NUD_PERMANENT, Flags: entryFlags}
	parts := append([]nl.NetlinkRequestData{header, attribute(unix.NDA_DST, ip.AsSlice())}, more...)
	return request(command, flags, parts...)
}

func (k *Kernel) makeNeighbour(ctx context.Context, n node.Neighbour, mac string) error {
	address, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	return k.onDevice(ctx, n.Dev, func(index int) error {
		return k.write(node.KindNeighbour, neighbourRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE,
			index, n.IP, 0, attribute(unix.NDA_LLADDR, address)))
	})
}

func (k *Kernel) removeNeighbour(ctx context.Context, n node.Neighbour) error {
	err := k.onDevice(ctx, n.Dev, func(index int) error {
		return k.write(node.KindNeighbour, neighbourRequest(unix.RTM_DELNEIGH, 0, index, n.IP, 0))
	})
	return tolerate(err, unix.ENOENT, unix.ENODEV)
}

// makeProxy: the kernel takes a repeated proxy as success.
func (k *Kernel) makeProxy(ctx context.Context, p node.Proxy) error {
	return k.onDevice(ctx, p.Dev, func(index int) error {
		return k.write(node.KindProxy, neighbourRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, index, p.IP, unix.NTF_PROXY))
	})
}

func (k *Kernel) removeProxy(ctx context.Context, p node.Proxy) error {
	err := k.onDevice(ctx, p.Dev, func(index int) error {
		return k.write(node.KindProxy, neighbourRequest(unix.RTM_DELNEIGH, 0, index, p.IP, unix.NTF_PROXY))
	})
	return tolerate(err, unix.ENOENT, unix.ENODEV)
}
