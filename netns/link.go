package netns

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Connect joins two nodes by a veth pair with the given device names and addresses, both ends up. The addresses are usable at once: IPv6
// duplicate address detection is skipped.
func Connect(a *Node, aName string, aAddrs []netip.Prefix, b *Node, bName string, bAddrs []netip.Prefix) error {
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: aName}, PeerName: bName, PeerNamespace: netlink.NsFd(int(b.netns))}
	if err := a.netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("link %s:%s to %s:%s: %w", a.config.Name, aName, b.config.Name, bName, err)
	}
	if err := a.configure(aName, aAddrs); err != nil {
		return err
	}
	return b.configure(bName, bAddrs)
}

func (n *Node) configure(device string, addresses []netip.Prefix) error {
	link, err := n.netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("node %s: device %s: %w", n.config.Name, device, err)
	}
	if err := n.netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("node %s: set %s up: %w", n.config.Name, device, err)
	}
	for _, p := range addresses {
		address, err := netlink.ParseAddr(p.String())
		if err != nil {
			return fmt.Errorf("node %s: %w", n.config.Name, err)
		}
		if p.Addr().Is6() {
			address.Flags = unix.IFA_F_NODAD
		}
		if err := n.netlink.AddrAdd(link, address); err != nil {
			return fmt.Errorf("node %s: add %s to %s: %w", n.config.Name, p, device, err)
		}
	}
	return nil
}
