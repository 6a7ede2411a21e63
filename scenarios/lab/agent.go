package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/status"
	"ovn-bgp-agent/netns"
)

// ConfigFile is the agent's configuration file on its node.
const ConfigFile = "/run/bgp-agent.conf"

const statusSocket = "/run/ovn-bgp-agent/status.sock"

// agentProcess is the agent under test on one node.
type agentProcess struct {
	*netns.Process
	client *status.Client
}

// never is an interval that ends in no scenario, so that no timer hides a lost event.
const never = "3600"

func (n *Node) config() string {
	options := map[string]string{
		"driver": n.lab.Driver, "exposing_method": "underlay", "bgp_AS": fmt.Sprint(nodeAS), "debug": "True",
		"ovsdb_connection": n.vswitch, "reconcile_interval": never, "frr_reconcile_interval": never,
	}
	if !n.lab.Ours {
		options["reconcile_interval"] = fmt.Sprint(foreignInterval)
	}
	maps.Copy(options, n.lab.Config)
	var b strings.Builder
	b.WriteString("[DEFAULT]\n")
	for _, option := range slices.Sorted(maps.Keys(options)) {
		fmt.Fprintf(&b, "%s = %s\n", option, options[option])
	}
	fmt.Fprintf(&b, "[ovn]\novn_nb_connection = %s\novn_sb_connection = %s\n", n.lab.NBProxy.Endpoint(), n.lab.SBProxy.Endpoint())
	return b.String()
}

// StartAgent starts the agent, with further options, and waits for its first sync.
func (n *Node) StartAgent(ctx context.Context, options ...string) {
	ginkgo.GinkgoHelper()
	n.launchAgent(ctx, options)
	if !n.lab.Ours {
		n.awaitForeignStart(ctx)
		return
	}
	gomega.Eventually(func() (int, error) {
		r, err := n.Status(ctx)
		return r.Sync.Count, err
	}).WithTimeout(Start).WithPolling(20*time.Millisecond).Should(gomega.BeNumerically(">", 0), "the agent's first sync on "+n.name)
}

// launchAgent starts the agent and does not wait.
func (n *Node) launchAgent(ctx context.Context, options []string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.WriteFile(n.Path(ConfigFile), []byte(n.config()), 0o644)).To(gomega.Succeed())
	gomega.Expect(os.WriteFile(filepath.Join(n.lab.out, n.name, "bgp-agent.conf"), []byte(n.config()), 0o644)).To(gomega.Succeed())
	process, err := n.Start(ctx, netns.ProcessConfig{
		Name: "ovn-bgp-agent", Args: append([]string{n.lab.settings.Agent, "--config-file", ConfigFile}, options...),
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "agent on "+n.name)
	n.agent = &agentProcess{process, status.Dial(n.Path(statusSocket))}
}

// StopAgent stops the agent as a supervisor does.
func (n *Node) StopAgent() {
	ginkgo.GinkgoHelper()
	gomega.Expect(n.agent.Stop(unix.SIGTERM, 10*time.Second)).To(gomega.Succeed(), "stop the agent on "+n.name)
}

// Status asks the agent how it is.
func (n *Node) Status(ctx context.Context) (status.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return n.agent.client.Report(ctx)
}

// Settled waits until the agent has applied every row committed so far: the fence
// behind which negative claims are made.
func (n *Node) Settled(ctx context.Context) {
	ginkgo.GinkgoHelper()
	if !n.lab.Ours {
		n.sentinelFence(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, Start)
	defer cancel()
	gomega.Expect(n.agent.client.Settled(ctx)).To(gomega.Succeed(), "settled on "+n.name)
}

// SyncCount is how many full syncs the agent has made; 0 for one that cannot be asked.
func (n *Node) SyncCount(ctx context.Context) int {
	ginkgo.GinkgoHelper()
	if !n.lab.Ours {
		return 0
	}
	r, err := n.Status(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return r.Sync.Count
}

// Sync has the agent compare the whole node now; it returns what that wrote, by
// kind, as far as the agent can be asked.
func (n *Node) Sync(ctx context.Context) map[string]uint64 {
	ginkgo.GinkgoHelper()
	if !n.lab.Ours {
		n.awaitForeignSync(ctx)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, Start)
	defer cancel()
	result, err := n.agent.client.Sync(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "sync now on "+n.name)
	return result.Writes
}

// Log is what the agent has logged so far.
func (n *Node) Log() string {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(n.agent.LogFile())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return string(text)
}

// Exposure returns what the agent says about a prefix.
func (n *Node) Exposure(ctx context.Context, prefix string) status.Exposure {
	ginkgo.GinkgoHelper()
	r, err := n.Status(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	i := slices.IndexFunc(r.Exposures, func(e status.Exposure) bool { return e.Prefix == prefix })
	gomega.Expect(i).NotTo(gomega.Equal(-1), "the agent says nothing about "+prefix)
	return r.Exposures[i]
}

// LinesAbout are the agent's log lines, above DEBUG, that mention both texts.
func (n *Node) LinesAbout(one, other string) []string {
	ginkgo.GinkgoHelper()
	var found []string
	for line := range strings.Lines(n.Log()) {
		if strings.Contains(line, one) && strings.Contains(line, other) && !strings.Contains(line, "level=DEBUG") {
			found = append(found, line)
		}
	}
	return found
}

// AgentRSS is the agent's resident set size, as proc(5) tells it.
func (n *Node) AgentRSS() string {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.agent.Pid()))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
