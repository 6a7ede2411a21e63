package config

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sample = "../../cmd/ovn-bgp-agent/bgp-agent.conf.sample"

// commented is a line of the sample that is an option.
var commented = regexp.MustCompile(`(?m)^#([a-zA-Z0-9_]+ =)`)

// TestSample: the sample is loadable as it is and with all options uncommented, and
// either way it is the defaults.
func TestSample(t *testing.T) {
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	uncommented := commented.ReplaceAllString(string(text), "$1")
	for name, text := range map[string]string{"as it is": string(text), "uncommented": uncommented} {
		t.Run(name, func(t *testing.T) {
			c, warnings, err := loadText(t, text)
			if err != nil || len(warnings) != 0 {
				t.Fatal(err, warnings)
			}
			if diff := cmp.Diff(defaults(), c, like()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSampleIsComplete: each option with an effect stands in the sample, once, in its
// section, with its default, below a comment; no other does.
func TestSampleIsComplete(t *testing.T) {
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	assignments, problems := parseINI(sample, 0, commented.ReplaceAllString(string(text), "$1"))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	known := newResolver(options(), nil, nil).known
	seen := map[place]bool{}
	for _, a := range assignments {
		o := known[a.place]
		switch {
		case o == nil || o.place != a.place || o.idle != "":
			t.Errorf("line %d: [%s] %s is no option with an effect", a.line, a.section, a.name)
		case seen[a.place]:
			t.Errorf("line %d: [%s] %s stands there twice", a.line, a.section, a.name)
		case a.value != o.fallback:
			t.Errorf("line %d: [%s] %s = %q, the default is %q", a.line, a.section, a.name, a.value, o.fallback)
		}
		seen[a.place] = true
	}
	for _, o := range options() {
		if o.idle == "" && !seen[o.place] {
			t.Errorf("[%s] %s is missing", o.section, o.name)
		}
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if commented.MatchString(line) && i > 0 && lines[i-1] == "" {
			t.Errorf("line %d: no comment", i+1)
		}
	}
}

// The sample deployments of config.md §6.5. Those that need what is not there yet are
// refused for exactly that.
const (
	underlayDeployment = `[DEFAULT]
driver = nb_ovn_bgp_driver
exposing_method = underlay
bgp_AS = 64999
ovsdb_connection = unix:/run/openvswitch/db.sock
expose_tenant_networks = %s
[ovn]
ovn_nb_connection = tcp:172.17.0.30:6641
`
	vrfDeployment = `[DEFAULT]
driver = nb_ovn_bgp_driver
exposing_method = vrf
bgp_AS = 64531
evpn_local_ip = 10.100.100.1
ovsdb_connection = tcp:127.0.0.1:6640
reconcile_interval = 600
frr_reconcile_interval = 86400
expose_tenant_networks = True
advertisement_method_tenant_networks = subnet
require_snat_disabled_for_tenant_networks = True
[ovn]
ovn_nb_connection = tcp:172.17.0.30:6641
`
	ovnDeployment = `[DEFAULT]
driver = nb_ovn_bgp_driver
exposing_method = ovn
[local_ovn_cluster]
ovn_nb_connection = unix:/run/ovn/ovnnb_db.sock
external_nics = eth1,eth2
peer_ips = 100.64.1.5,100.65.1.5
provider_networks_pool_prefixes = 172.16.0.0/16
bgp_chassis_id = bgp
`
)

func TestDeploymentsRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"underlay": {strings.Replace(underlayDeployment, "%s", "True", 1),
			"bgp-agent.conf:6: [DEFAULT] expose_tenant_networks = True: not implemented in this version"},
		"vrf": {vrfDeployment,
			"bgp-agent.conf:3: [DEFAULT] exposing_method = vrf: not implemented in this version; underlay is\n" +
				"bgp-agent.conf:9: [DEFAULT] expose_tenant_networks = True: not implemented in this version\n" +
				"bgp-agent.conf:10: [DEFAULT] advertisement_method_tenant_networks = subnet: not implemented in this version"},
		"ovn": {ovnDeployment,
			"bgp-agent.conf:3: [DEFAULT] exposing_method = ovn: not implemented in this version; underlay is"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := loadText(t, test.text)
			if got := messages(t, err); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestUnderlayDeployment(t *testing.T) {
	want := defaults()
	want.Driver = DriverNB
	want.OVN.NB.Connection = []string{"tcp:172.17.0.30:6641"}
	c := mustLoad(t, strings.Replace(underlayDeployment, "%s", "False", 1))
	if diff := cmp.Diff(want, c, like()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDeploymentValues: what the refused deployments set is read all the same.
func TestDeploymentValues(t *testing.T) {
	read := func(text string) *Config {
		t.Helper()
		assignments, problems := parseINI("f", 0, text)
		r := newResolver(options(), [][]assignment{assignments}, nil)
		c := &Config{}
		r.fill(c)
		if problems = append(problems, r.problems...); len(problems) != 0 {
			t.Fatal(problems)
		}
		return c
	}
	vrf := read(vrfDeployment)
	if vrf.EVPN.LocalIP != netip.MustParseAddr("10.100.100.1") || vrf.FRRReconcileInterval != 24*time.Hour || !vrf.RequireSNATDisabledForTenantNetworks {
		t.Errorf("%+v", vrf)
	}
	want := LocalOVNCluster{
		NBConnection: []string{"unix:/run/ovn/ovnnb_db.sock"}, ExternalNICs: []string{"eth1", "eth2"},
		PeerIPs:                      []netip.Addr{netip.MustParseAddr("100.64.1.5"), netip.MustParseAddr("100.65.1.5")},
		ProviderNetworksPoolPrefixes: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/16")}, BGPChassisID: "bgp",
	}
	if diff := cmp.Diff(want, read(ovnDeployment).LocalOVNCluster, like()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
