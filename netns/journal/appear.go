package journal

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Appears selects the first signs that an address is on a device: the address
// itself, or for IPv6 the route of the same length that the kernel makes with it.
func Appears(address netip.Prefix, device string) Predicate {
	return Where(fmt.Sprintf("%s appears on %s", address, device), func(e Entry) bool {
		return e.Prefix == address && e.Dev == device && isSign(e)
	})
}

func isSign(e Entry) bool {
	if e.Op != Add {
		return false
	}
	host := e.Prefix.IsSingleIP() && e.Prefix.Addr().Is6()
	return e.Kind == Addr || e.Kind == Route && host && e.Proto == unix.RTPROT_KERNEL
}

// addresses are those that have appeared, so that the later signs of one address
// are told from the first.
type addresses map[deviceAddress]bool

type deviceAddress struct {
	device  string
	address netip.Prefix
}

// learn keeps up with an entry, and reports whether it is the first sign of an
// address.
func (a addresses) learn(e Entry) bool {
	key := deviceAddress{e.Dev, e.Prefix}
	if e.Kind == Addr && e.Op == Del {
		delete(a, key)
		return false
	}
	if !isSign(e) || a[key] {
		return false
	}
	a[key] = true
	return true
}
