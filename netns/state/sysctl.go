package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// readSysctls reads files of /proc/sys/net, which show the namespace of the thread
// that opens them; the thread ends afterwards.
func (r Reader) readSysctls(s State) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- r.readSysctlsHere(s)
	}()
	return <-done
}

func (r Reader) readSysctlsHere(s State) error {
	if r.NetNS > 0 {
		if err := netns.Set(r.NetNS); err != nil {
			return fmt.Errorf("sysctls: entering the network namespace: %w", err)
		}
	}
	for _, device := range r.SysctlDevices {
		for _, key := range []string{"ipv4/conf/%s/proxy_arp", "ipv4/conf/%s/forwarding", "ipv6/conf/%s/proxy_ndp", "ipv6/conf/%s/forwarding"} {
			path := fmt.Sprintf(key, device)
			value, err := os.ReadFile("/proc/sys/net/" + path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // no such device, or no IPv6
			}
			if err != nil {
				return fmt.Errorf("sysctls: %w", err)
			}
			s[Sysctls] = append(s[Sysctls], "net."+sysctlKey(path)+" = "+strings.TrimSpace(string(value)))
		}
	}
	return nil
}

// sysctlKey swaps dot and slash, as sysctl(8) does: the device br-ex.101 is
// written br-ex/101.
func sysctlKey(path string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case '/':
			return '.'
		case '.':
			return '/'
		}
		return c
	}, path)
}
