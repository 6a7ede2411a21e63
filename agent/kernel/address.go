package kernel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

// address is an address with its device.
type address struct {
	index  int
	scope  uint8
	prefix netip.Prefix
}

func decodeAddress(message []byte) (address, bool) {
	if len(message) < unix.SizeofIfAddrmsg {
		return address{}, false
	}
	header := nl.DeserializeIfAddrmsg(message)
	if _, ip := unspecified(header.Family); !ip {
		return address{}, false
	}
	var local, remote netip.Addr
	for kind, value := range attributes(message[unix.SizeofIfAddrmsg:]) {
		switch kind {
		case unix.IFA_LOCAL:
			local = addressOf(value)
		case unix.IFA_ADDRESS:
			remote = addressOf(value)
		}
	}
	// IFA_ADDRESS is the peer's when there is a peer, and IPv6 sends
	// IFA_LOCAL only then.
	if !local.IsValid() {
		local = remote
	}
	found := address{int(header.Index), header.Scope, netip.PrefixFrom(local, int(header.Prefixlen))}
	return found, local.IsValid()
}

// readAddresses lists the addresses of a device, of all devices with index 0.
func (k *Kernel) readAddresses(ctx context.Context, index int) ([]address, error) {
	header := nl.NewIfAddrmsg(unix.AF_UNSPEC)
	header.Index = uint32(index)
	addresses, err := dump(ctx, k.conn, request(unix.RTM_GETADDR, 0, header), unix.RTM_NEWADDR, decodeAddress)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	return addresses, nil
}

// addressRequest names prefix length and both addresses, so that a removal hits
// no other address of the device. NODAD: these addresses are on several nodes at
// once, or on a device without neighbours, and must be usable at once.
func addressRequest(command, flags, index int, prefix netip.Prefix) *nl.NetlinkRequest {
	ip := prefix.Addr()
	header := nl.NewIfAddrmsg(int(family(ip)))
	header.Prefixlen = uint8(prefix.Bits())
	header.Index = uint32(index)
	header.Scope = unix.RT_SCOPE_UNIVERSE
	if !ip.Is4() {
		header.Flags = unix.IFA_F_NODAD
	}
	return request(command, flags, header, attribute(unix.IFA_LOCAL, ip.AsSlice()), attribute(unix.IFA_ADDRESS, ip.AsSlice()))
}

func (k *Kernel) makeAddress(ctx context.Context, kind node.Kind, dev string, prefix netip.Prefix) error {
	return k.onDevice(ctx, dev, func(index int) error {
		err := k.write(kind, addressRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, prefix))
		if errors.Is(err, unix.EEXIST) {
			return k.checkAddress(ctx, index, prefix, err)
		}
		return err
	})
}

// checkAddress tells why an address exists: IPv6 has an address once, with
// whatever prefix length it was made.
func (k *Kernel) checkAddress(ctx context.Context, index int, prefix netip.Prefix, exists error) error {
	addresses, err := k.readAddresses(ctx, index)
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if a.index != index || a.prefix.Addr() != prefix.Addr() {
			continue
		}
		if a.prefix == prefix && a.scope == unix.RT_SCOPE_UNIVERSE {
			return nil
		}
		exists = fmt.Errorf("the device has it as %s, scope %d: %w", a.prefix, a.scope, exists)
	}
	return exists
}

// removeAddress: with the last IPv4 address of a device the kernel takes also the
// IPv4 routes through it, of every table, and its IPv4 neighbours.
func (k *Kernel) removeAddress(ctx context.Context, kind node.Kind, dev string, prefix netip.Prefix) error {
	err := k.onDevice(ctx, dev, func(index int) error {
		return k.write(kind, addressRequest(unix.RTM_DELADDR, 0, index, prefix))
	})
	return tolerate(err, unix.EADDRNOTAVAIL, unix.ENODEV)
}
