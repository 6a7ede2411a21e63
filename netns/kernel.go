// Package netns builds nodes on one machine: a node is a network, mount, UTS and process namespace with real FRR and real Open
// vSwitch on their default paths. It also boots the guest kernel in which nodes work where the machine's own kernel
// lacks VRF, dummy or VLAN devices.
package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Kernel says which kernel the nodes run on.
type Kernel string

const (
	// Native is the machine's own kernel.
	Native Kernel = "native"
	// Guest is User-Mode Linux, see RunGuest.
	Guest Kernel = "guest"
)

// Choose picks the kernel and says why, in words for a log line: the machine's own if this process is root and its kernel
// has all that nodes need, else the guest.
func Choose() (Kernel, string, error) {
	if os.Geteuid() != 0 {
		return Guest, "not root", nil
	}
	missing, err := Probe()
	if err != nil {
		return "", "", err
	}
	if len(missing) > 0 {
		return Guest, "this kernel has no " + strings.Join(missing, ", "), nil
	}
	return Native, "root, and this kernel has VRF, dummy and VLAN devices", nil
}

// Probe tries in a new network namespace which of the link kinds "veth", "vrf", "dummy" and "vlan" this kernel can make, and
// returns those it cannot. It needs root.
func Probe() (missing []string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with the goroutine, and the namespace with the thread.
		runtime.LockOSThread()
		missing, err = probeKinds()
	}()
	<-done
	if err != nil {
		return nil, fmt.Errorf("probe of the kernel: %w", err)
	}
	return missing, nil
}

func probeKinds() ([]string, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("new network namespace: %w", err)
	}
	var missing []string
	try := func(l netlink.Link) error {
		err := netlink.LinkAdd(l)
		if errors.Is(err, unix.EOPNOTSUPP) {
			missing = append(missing, l.Type())
			return nil
		}
		if err != nil {
			return fmt.Errorf("make a %s device: %w", l.Type(), err)
		}
		return nil
	}
	parent := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}, PeerName: "probe1"}
	if err := try(parent); err != nil || len(missing) > 0 {
		return missing, err // without veth nothing else is worth a try
	}
	index, err := netlink.LinkByName("probe0")
	if err != nil {
		return nil, fmt.Errorf("find the veth device: %w", err)
	}
	for _, l := range []netlink.Link{
		&netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: "probe-vrf"}, Table: 10},
		&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "probe-dummy"}},
		&netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "probe-vlan", ParentIndex: index.Attrs().Index}, VlanId: 7},
	} {
		if err := try(l); err != nil {
			return nil, err
		}
	}
	return missing, nil
}
