package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"ovn-bgp-agent/fabric"
	"ovn-bgp-agent/sim/cloud"
)

// An agent that is not this project's has no status socket. What a scenario asks
// of ours is then found out from outside: that the first sync is done, by the
// dummy; that a row was applied, by a sentinel port booted after it; and a sync is
// waited for, with a short reconcile_interval.

// isOurs asks the program for its version.
func (s Settings) isOurs(ctx context.Context) bool {
	if s.Foreign {
		return false
	}
	out, err := exec.CommandContext(ctx, s.Agent, "--version").Output()
	return err == nil && strings.HasPrefix(string(out), "ovn-bgp-agent ")
}

// foreignInterval is the reconcile_interval, in seconds, of an agent that cannot
// be asked for a sync.
const foreignInterval = 5

// sentinels is where the addresses of sentinel ports are from.
var sentinels = netip.MustParsePrefix("198.51.100.0/24")

const sentinelNetwork = "sentinels"

// isSentinel: the prefix belongs to the fences, not to the scenario.
func isSentinel(p netip.Prefix) bool { return sentinels.Contains(p.Addr()) }

// sentinelFence boots a port on the host, waits until it is announced, deletes it
// and waits until it is withdrawn: an agent takes rows in order, so whatever was
// committed before has been seen too.
func (n *Node) sentinelFence(ctx context.Context) {
	ginkgo.GinkgoHelper()
	l := n.lab
	l.fences++
	address := netip.AddrFrom4([4]byte{198, 51, 100, byte(l.fences%250 + 1)})
	name := fmt.Sprintf("sentinel-%d", l.fences)
	if l.Cloud.LogicalSwitch(sentinelNetwork) == "" {
		gomega.Expect(l.Cloud.CreateNetwork(ctx, cloud.ProviderNetwork{Name: sentinelNetwork, Physnet: l.Physnets[0].Name, VLAN: 4000, Subnets: []netip.Prefix{sentinels}})).To(gomega.Succeed())
	}
	mark := l.Timeline.Now()
	gomega.Expect(l.Cloud.BootVM(ctx, cloud.VM{Name: name, Network: sentinelNetwork, Host: n.name, Addresses: []netip.Addr{address}})).To(gomega.Succeed())
	gomega.Expect(l.Timeline).To(fabric.Announced(netip.PrefixFrom(address, 32)).By(n.name).Since(mark).Within(Start), "the fence's sentinel port")
	gomega.Expect(l.Cloud.DeleteVM(ctx, name)).To(gomega.Succeed())
	gomega.Expect(l.Timeline).To(fabric.Withdrawn(netip.PrefixFrom(address, 32)).By(n.name).Since(mark).Within(Start), "the fence's sentinel port")
}

// awaitForeignSync lets a whole sync of an agent that cannot be asked go by.
func (n *Node) awaitForeignSync(ctx context.Context) {
	passed := time.NewTimer((2*foreignInterval + 1) * time.Second)
	defer passed.Stop()
	select {
	case <-passed.C:
	case <-ctx.Done():
	}
}

// awaitForeignStart waits for the announcing devices.
func (n *Node) awaitForeignStart(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		_, err := n.Run(ctx, "ip", "link", "show", "dev", bgpNIC)
		return err
	}).WithTimeout(Start).WithPolling(100*time.Millisecond).Should(gomega.Succeed(), "the agent's dummy on "+n.name)
}

// removeSentinels deletes what the fences needed, and lets a sync clean up.
func (l *Lab) removeSentinels(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Expect(l.Cloud.Clear(ctx)).To(gomega.Succeed())
	l.nodes[l.Hosts[0]].awaitForeignSync(ctx)
}
