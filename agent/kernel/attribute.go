package kernel

import (
	"encoding/binary"
	"iter"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Sizes of the headers before the attributes (rtnetlink(7)).
const (
	sizeofRuleHeader = 12 // struct fib_rule_hdr
	sizeofNdMsg      = 12
)

// typeMask leaves out the flags of an attribute's type (NLA_TYPE_MASK).
const typeMask = 0x3fff

// attributes iterates over the types and values of the attributes after a header.
// It ends at the first that is not well formed.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.SizeofRtAttr {
			length := int(binary.NativeEndian.Uint16(b))
			kind := binary.NativeEndian.Uint16(b[2:]) & typeMask
			if length < unix.SizeofRtAttr || length > len(b) {
				return
			}
			if !yield(kind, b[unix.SizeofRtAttr:length]) {
				return
			}
			b = b[min(aligned(length), len(b)):]
		}
	}
}

func aligned(length int) int {
	return (length + unix.RTA_ALIGNTO - 1) &^ (unix.RTA_ALIGNTO - 1)
}

func uint32Of(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

func addressOf(value []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(value)
	return a
}

// textOf reads a string with or without the final zero.
func textOf(value []byte) string { return unix.ByteSliceToString(value) }

func attribute(kind int, value []byte) *nl.RtAttr { return nl.NewRtAttr(kind, value) }

func uint32Attribute(kind int, value uint32) *nl.RtAttr {
	return attribute(kind, nl.Uint32Attr(value))
}

// family of an address: an IPv4-mapped IPv6 address is an IPv6 address, as for
// the kernel.
func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// unspecified is the prefix of length 0 of a family, false for a family other than IPv4
// and IPv6.
func unspecified(family uint8) (netip.Prefix, bool) {
	switch family {
	case unix.AF_INET:
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
	case unix.AF_INET6:
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), true
	}
	return netip.Prefix{}, false
}
