package node

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strings"
	"sync"
)

// Layout is where things are on this node: what the configuration names, and
// the tables and devices of the provider bridges.
type Layout struct {
	BGPNIC   string
	BGPVRF   string
	VRFTable uint32
	Bridges  map[string]Bridge // mapped provider bridges
	Tables   map[uint32]string // tables named after any bridge of Open vSwitch, mapped or not
}

// Bridge is a mapped provider bridge.
type Bridge struct {
	Present bool   // the kernel has its device
	MAC     string // of its device
	Table   uint32 // its routing table, 0 when none could be given
	Reason  string // why it has no table
}

// interfaceNameLen is IFNAMSIZ-1; vlanBaseLen leaves room for ".4094".
const (
	interfaceNameLen = 15
	vlanBaseLen      = interfaceNameLen - len(".4094")
)

// VLANDevice is the name of a VLAN device on a bridge (side-effects.md §2.1).
func VLANDevice(bridge string, vlan uint16) string {
	if len(bridge) > vlanBaseLen {
		bridge = bridge[:vlanBaseLen]
	}
	return fmt.Sprintf("%s.%d", bridge, vlan)
}

// Prefixes of the addresses that make a bridge answer ARP and NDP
// (side-effects.md §2.3, A2 and A3).
var (
	arpPrefix = netip.MustParsePrefix("169.254.0.0/16")
	ndpPrefix = netip.MustParsePrefix("fd53:d91e:400:7f17::/64")
)

// ARPAddress is the IPv4 address of the n-th bridge mapping for an id, which is
// the VLAN id, or n itself for the untagged network.
func ARPAddress(n, id int) netip.Prefix {
	return HostPrefix(netip.AddrFrom4([4]byte{169, 254, byte(n % 256), byte(id % 256)}))
}

// NDPAddress is the IPv6 counterpart of [ARPAddress].
func NDPAddress(n, id int) netip.Prefix {
	a := ndpPrefix.Addr().As16()
	a[12], a[13] = byte(n%65536>>8), byte(n)
	a[15] = byte(id % 256)
	return HostPrefix(netip.AddrFrom16(a))
}

// Recognise returns a test of whether an object of the actual state is the
// agent's own, by what the object is (see the package documentation).
func (l Layout) Recognise(actual State) func(Key, Value) bool {
	marks := sync.OnceValue(func() marks { return l.marks(actual) })
	return func(key Key, value Value) bool {
		switch k := key.(type) {
		case Announcement:
			return true
		case Rule:
			return l.ownTable(k.Table)
		case Route:
			return l.ownRoute(k, value.(RouteSpec))
		case Neighbour:
			return l.ownDevice(actual, k.Dev) && marks().exposes(k.IP)
		case Proxy:
			return l.ownDevice(actual, k.Dev) && marks().exposesWithin(k.IP)
		case Address:
			return l.ownDevice(actual, k.Dev) && isProxyAddress(k.Prefix)
		case Device:
			return l.namedVLAN(k.Name, value.(DeviceSpec)) && marks().devices[k.Name]
		case Flow:
			_, mapped := l.Bridges[k.Bridge]
			return mapped
		default:
			return false
		}
	}
}

// marks are the signs in an actual state by which other objects are recognised.
type marks struct {
	rules   map[netip.Prefix]bool // destinations of the agent's rules
	devices map[string]bool       // devices with an address of the agent's
}

func (l Layout) marks(actual State) marks {
	m := marks{map[netip.Prefix]bool{}, map[string]bool{}}
	for key := range actual {
		switch k := key.(type) {
		case Rule:
			if l.ownTable(k.Table) {
				m.rules[k.Dst] = true
			}
		case Address:
			if isProxyAddress(k.Prefix) {
				m.devices[k.Dev] = true
			}
		}
	}
	return m
}

func (m marks) exposes(ip netip.Addr) bool { return m.rules[HostPrefix(ip)] }

func (m marks) exposesWithin(network netip.Addr) bool {
	for dst := range m.rules {
		if isNetworkOf(network, dst.Addr()) {
			return true
		}
	}
	return false
}

func (l Layout) ownRoute(k Route, spec RouteSpec) bool {
	if spec.Proto != ProtoBoot {
		return false
	}
	if k.Table == l.VRFTable {
		return spec.Dev == l.BGPNIC
	}
	return l.ownTable(k.Table)
}

func (l Layout) ownTable(table uint32) bool {
	if table == 0 || table == l.VRFTable {
		return false
	}
	if _, ok := l.Tables[table]; ok {
		return true
	}
	for _, b := range l.Bridges {
		if b.Table == table {
			return true
		}
	}
	return false
}

// ownDevice: a mapped bridge, or a VLAN device on one.
func (l Layout) ownDevice(actual State, dev string) bool {
	if _, ok := l.Bridges[dev]; ok {
		return true
	}
	spec, ok := actual[Device{dev}].(DeviceSpec)
	return ok && l.namedVLAN(dev, spec)
}

func (l Layout) namedVLAN(dev string, spec DeviceSpec) bool {
	_, mapped := l.Bridges[spec.Parent]
	return spec.Type == "vlan" && mapped && dev == VLANDevice(spec.Parent, spec.VLAN)
}

func isProxyAddress(p netip.Prefix) bool {
	return p.IsSingleIP() && (arpPrefix.Contains(p.Addr()) || ndpPrefix.Contains(p.Addr()))
}

// isNetworkOf tells whether network is the network address of address for some
// prefix length below the host length.
func isNetworkOf(network, address netip.Addr) bool {
	if network.BitLen() != address.BitLen() || network == address {
		return false
	}
	p, err := address.Prefix(commonBits(network, address))
	return err == nil && p.Addr() == network
}

// commonBits is the number of leading bits in which two addresses of one family agree.
func commonBits(a, b netip.Addr) int {
	x, y := a.AsSlice(), b.AsSlice()
	for i := range x {
		if differ := x[i] ^ y[i]; differ != 0 {
			return i*8 + bits.LeadingZeros8(differ)
		}
	}
	return a.BitLen()
}

// SysctlKey is a parameter of a device in the syntax of sysctl(8).
func SysctlKey(family, dev, name string) Sysctl {
	return Sysctl{"net." + family + ".conf." + strings.ReplaceAll(dev, ".", "/") + "." + name}
}
