package netns

import (
	"net"
	"net/netip"
	"testing"
)

// udpListen opens a socket on a node's address.
func udpListen(t *testing.T, n *Node, address netip.Addr) (*net.UDPConn, netip.AddrPort) {
	t.Helper()
	var c *net.UDPConn
	err := n.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, netip.MustParseAddrPort(c.LocalAddr().String())
}

func udpDial(t *testing.T, n *Node, address netip.AddrPort) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := n.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(address))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
