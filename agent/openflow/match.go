package openflow

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rawPrefix begins the text of what has no other text here; hexadecimal OXM TLVs,
// or instructions, follow.
const rawPrefix = "raw:"

// OXM fields of class OFPXMC_OPENFLOW_BASIC (OpenFlow 1.3 §7.2.3.7).
const (
	classBasic = 0x8000

	oxmInPort  = 0
	oxmEthDst  = 3
	oxmEthSrc  = 4
	oxmEthType = 5
	oxmIPv4Src = 11
	oxmIPv4Dst = 12
	oxmIPv6Src = 26
	oxmIPv6Dst = 27
)

// ethTypes are the protocols that ovs-ofctl(8) names in a match.
var ethTypes = []struct {
	name  string
	value []byte
}{
	{"ip", []byte{0x08, 0x00}},
	{"ipv6", []byte{0x86, 0xdd}},
	{"arp", []byte{0x08, 0x06}},
}

// fields are the others with a name in ovs-ofctl(8), in the order in which that
// prints them.
var fields = []struct {
	name  string
	field byte
	size  int
}{
	{"in_port", oxmInPort, 4},
	{"dl_src", oxmEthSrc, 6},
	{"dl_dst", oxmEthDst, 6},
	{"nw_src", oxmIPv4Src, 4},
	{"nw_dst", oxmIPv4Dst, 4},
	{"ipv6_src", oxmIPv6Src, 16},
	{"ipv6_dst", oxmIPv6Dst, 16},
}

// oxm is one TLV of a match; mask is nil for an exact match.
type oxm struct {
	class uint16
	field byte
	value []byte
	mask  []byte
}

func (o oxm) append(b []byte) []byte {
	head := o.field << 1
	if o.mask != nil {
		head |= 1
	}
	b = binary.BigEndian.AppendUint16(b, o.class)
	b = append(b, head, byte(len(o.value)+len(o.mask)))
	return append(append(b, o.value...), o.mask...)
}

// splitOXMs takes the TLVs of a match apart.
func splitOXMs(b []byte) ([]oxm, error) {
	var list []oxm
	for len(b) > 0 {
		if len(b) < 4 || len(b) < 4+int(b[3]) {
			return nil, fmt.Errorf("OXM field cut short after %d bytes", len(b))
		}
		o := oxm{class: binary.BigEndian.Uint16(b), field: b[2] >> 1, value: b[4 : 4+int(b[3])]}
		if b[2]&1 != 0 {
			half := len(o.value) / 2
			o.value, o.mask = o.value[:half], o.value[half:]
		}
		list = append(list, o)
		b = b[4+int(b[3]):]
	}
	return list, nil
}

// matchText writes OXM TLVs in the syntax of ovs-ofctl(8). What that would not
// give back byte for byte is written as raw:HEX, so that [parseMatch] always
// returns what the switch has.
func matchText(oxms []byte) string {
	if text, ok := namedMatch(oxms); ok {
		if again, err := parseMatch(text); err == nil && bytes.Equal(again, oxms) {
			return text
		}
	}
	return rawPrefix + hex.EncodeToString(oxms)
}

func namedMatch(oxms []byte) (string, bool) {
	list, err := splitOXMs(oxms)
	if err != nil {
		return "", false
	}
	var parts []string
	for _, t := range ethTypes {
		if slices.ContainsFunc(list, func(o oxm) bool { return o.field == oxmEthType && bytes.Equal(o.value, t.value) }) {
			parts = append(parts, t.name)
		}
	}
	for _, f := range fields {
		for _, o := range list {
			if o.class == classBasic && o.field == f.field {
				parts = append(parts, f.name+"="+valueText(o))
			}
		}
	}
	return strings.Join(parts, ","), true
}

// valueText is a field's value, with /LENGTH for a prefix mask. Of a value that
// it cannot write, the text is one that cannot be parsed to the same bytes.
func valueText(o oxm) string {
	switch len(o.value) {
	case 6:
		return net.HardwareAddr(o.value).String()
	case 4, 16:
		if o.field == oxmInPort {
			return portText(binary.BigEndian.Uint32(o.value))
		}
		a, _ := netip.AddrFromSlice(o.value)
		ones, _ := net.IPMask(o.mask).Size()
		if o.mask == nil {
			return a.String()
		}
		return a.String() + "/" + strconv.Itoa(ones)
	}
	return "?"
}

// parseMatch turns the text of a match into OXM TLVs, in the order in which Open
// vSwitch sends them.
func parseMatch(text string) ([]byte, error) {
	if digits, raw := strings.CutPrefix(text, rawPrefix); raw {
		oxms, err := hex.DecodeString(digits)
		if err != nil {
			return nil, fmt.Errorf("match %q: %w", text, err)
		}
		return oxms, nil
	}
	var list []oxm
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		o, err := parseField(part)
		if err != nil {
			return nil, fmt.Errorf("match %q: %w", text, err)
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b oxm) int { return wireRank(a) - wireRank(b) })
	var b []byte
	for _, o := range list {
		b = o.append(b)
	}
	return b, nil
}

// wireRank is the place of a field in the TLVs that Open vSwitch sends.
func wireRank(o oxm) int {
	return slices.Index([]byte{oxmInPort, oxmEthSrc, oxmEthDst, oxmEthType, oxmIPv4Src, oxmIPv4Dst, oxmIPv6Src, oxmIPv6Dst}, o.field)
}

func parseField(part string) (oxm, error) {
	name, value, assigned := strings.Cut(part, "=")
	if !assigned {
		for _, t := range ethTypes {
			if name == t.name {
				return oxm{class: classBasic, field: oxmEthType, value: t.value}, nil
			}
		}
		return oxm{}, fmt.Errorf("unknown protocol %q", name)
	}
	for _, f := range fields {
		if name == f.name {
			return parseValue(f.field, f.size, value)
		}
	}
	return oxm{}, fmt.Errorf("unknown field %q", name)
}

func parseValue(field byte, size int, text string) (oxm, error) {
	o := oxm{class: classBasic, field: field}
	switch {
	case field == oxmInPort:
		port, err := parsePort(text)
		o.value = binary.BigEndian.AppendUint32(nil, port)
		return o, err
	case size == 6:
		mac, err := parseMAC(text)
		o.value = mac
		return o, err
	}
	address, length, masked := strings.Cut(text, "/")
	a, err := netip.ParseAddr(address)
	if err != nil {
		return o, err
	}
	if a.BitLen() != size*8 || a.Zone() != "" {
		return o, fmt.Errorf("address %s of the other family", address)
	}
	o.value = a.AsSlice()
	if !masked {
		return o, nil
	}
	ones, err := strconv.Atoi(length)
	if err != nil || ones < 0 || ones > size*8 {
		return o, fmt.Errorf("prefix length %q", length)
	}
	o.mask = net.CIDRMask(ones, size*8)
	return o, nil
}

func parseMAC(text string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(text)
	if err == nil && len(mac) != 6 {
		err = fmt.Errorf("address %s: not an Ethernet address", text)
	}
	return mac, err
}
