package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// write makes a file below dir and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadText loads one file's text on an empty machine.
func loadText(t *testing.T, text string, env ...string) (*Config, []Warning, error) {
	t.Helper()
	dir := t.TempDir()
	path := write(t, dir, "bgp-agent.conf", text)
	c, warnings, err := load(Sources{Files: []string{path}, Env: append(env, "HOME="+dir)}, host{root: dir})
	for i := range warnings {
		warnings[i].File = strings.ReplaceAll(warnings[i].File, dir+"/", "")
	}
	return c, warnings, err
}

// messages are the problems as text, without the folder of the files.
func messages(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var lines []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		p := e.(Problem)
		if filepath.IsAbs(p.File) {
			p.File = filepath.Base(p.File)
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

func mustLoad(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	c, _, err := loadText(t, text, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// defaults are the options' defaults as config.md §2 lists them.
func defaults() *Config {
	database := Database{
		PrivateKey:  "/etc/pki/tls/private/ovn_bgp_agent.key",
		Certificate: "/etc/pki/tls/certs/ovn_bgp_agent.crt",
		CACert:      "/etc/ipa/ca.crt",
	}
	return &Config{
		Driver: "ovn_bgp_driver", ExposingMethod: "underlay",
		ReconcileInterval: 300 * time.Second, FRRReconcileInterval: 15 * time.Second,
		AdvertisementMethodTenantNetworks: "host",
		OVSDBConnection:                   "unix:/run/openvswitch/db.sock", OVSDBConnectionTimeout: 180 * time.Second,
		BGPAS: 64999, BGPNIC: "bgp-nic", BGPVRF: "bgp-vrf", BGPVRFTableID: 10,
		EVPN: EVPN{UDPDstPort: 4789, DeleteVRFOnDisconnect: true},
		OVN:  OVN{SB: database, NB: database},
		LocalOVNCluster: LocalOVNCluster{
			NBConnection:                 []string{"unix:/var/run/ovn/ovnnb_db.sock"},
			ProviderNetworksPoolPrefixes: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")},
			BGPChassisID:                 "bgp",
		},
		MassWithdrawGuard: true, StatusSocket: "/run/ovn-bgp-agent/status.sock",
	}
}

// like compares configurations by what others can see of them.
func like() cmp.Option {
	return cmp.Options{
		cmpopts.IgnoreUnexported(Config{}),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
}

func TestDefaults(t *testing.T) {
	c, warnings, err := loadText(t, "")
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	if diff := cmp.Diff(defaults(), c, like()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOptions sets each option and sees that its field, and no other, changes.
func TestOptions(t *testing.T) {
	tests := []struct {
		text string
		want func(*Config)
	}{
		{"[DEFAULT]\ndriver = nb_ovn_bgp_driver", func(c *Config) { c.Driver = DriverNB }},
		{"[DEFAULT]\ndriver = 'nb_ovn_bgp_driver'", func(c *Config) { c.Driver = DriverNB }},
		{"[DEFAULT]\nexposing_method = underlay", func(*Config) {}},
		{"[DEFAULT]\nreconcile_interval = 600", func(c *Config) { c.ReconcileInterval = 10 * time.Minute }},
		{"[DEFAULT]\nfrr_reconcile_interval = 86400", func(c *Config) { c.FRRReconcileInterval = 24 * time.Hour }},
		{"[DEFAULT]\nexpose_tenant_networks = no", func(*Config) {}},
		{"[DEFAULT]\nadvertisement_method_tenant_networks = subnet", func(c *Config) { c.AdvertisementMethodTenantNetworks = AdvertiseSubnet }},
		{"[DEFAULT]\nrequire_snat_disabled_for_tenant_networks = YES", func(c *Config) { c.RequireSNATDisabledForTenantNetworks = true }},
		{"[DEFAULT]\naddress_scopes = 1 , 2,3,", func(c *Config) { c.AddressScopes = []string{"1", "2", "3"} }},
		{"[DEFAULT]\naddress_scopes = 1,\n  2,\n  3", func(c *Config) { c.AddressScopes = []string{"1", "2", "3"} }},
		{"[DEFAULT]\nbgp_AS = 4294967295", func(c *Config) { c.BGPAS = 4294967295 }},
		{"[DEFAULT]\nbgp_AS = 1.10", func(c *Config) { c.BGPAS = 65546 }},
		{"[DEFAULT]\nbgp_router_id = 10.0.0.1", func(c *Config) { c.BGPRouterID = netip.MustParseAddr("10.0.0.1") }},
		{"[DEFAULT]\nbgp_router_id =", func(*Config) {}},
		{"[DEFAULT]\nbgp_nic = abcdefghijklmno", func(c *Config) { c.BGPNIC = "abcdefghijklmno" }},
		{"[DEFAULT]\nbgp_vrf = vrf-bgp", func(c *Config) { c.BGPVRF = "vrf-bgp" }},
		{"[DEFAULT]\nbgp_vrf_table_id = 4294967295", func(c *Config) { c.BGPVRFTableID = 4294967295 }},
		{"[DEFAULT]\novsdb_connection = tcp:127.0.0.1:6640", func(c *Config) { c.OVSDBConnection = "tcp:127.0.0.1:6640" }},
		{"[DEFAULT]\novsdb_connection_timeout = 30", func(c *Config) { c.OVSDBConnectionTimeout = 30 * time.Second }},
		{"[DEFAULT]\nevpn_local_ip = fd00::1", func(c *Config) { c.EVPN.LocalIP = netip.MustParseAddr("fd00::1") }},
		{"[DEFAULT]\nevpn_nic = lo", func(c *Config) { c.EVPN.NIC = "lo" }},
		{"[DEFAULT]\nevpn_udp_dstport = 0", func(c *Config) { c.EVPN.UDPDstPort = 0 }},
		{"[DEFAULT]\ndelete_vrf_on_disconnect = 0", func(c *Config) { c.EVPN.DeleteVRFOnDisconnect = false }},
		{"[DEFAULT]\nmass_withdraw_guard = off", func(c *Config) { c.MassWithdrawGuard = false }},
		{"[DEFAULT]\nstatus_socket = /tmp/s", func(c *Config) { c.StatusSocket = "/tmp/s" }},
		{"[DEFAULT]\ndebug = True", func(c *Config) { c.Debug = true }},
		{"[DEFAULT]\nuse_json = 1", func(c *Config) { c.UseJSON = true }},
		{"[DEFAULT]\nlog_file = /a/b", func(c *Config) { c.LogFile = "/a/b" }},
		{"[DEFAULT]\nlog_file = b\nlog_dir = /a", func(c *Config) { c.LogFile = "/a/b" }},
		{"[DEFAULT]\nlog_file = /b\nlog_dir = /a", func(c *Config) { c.LogFile = "/b" }},
		{"[DEFAULT]\nlog_dir = /a", func(c *Config) { c.LogFile = "/a/ovn-bgp-agent.log" }},
		{"[ovn]\novn_sb_connection = tcp:[::1]:6642", func(c *Config) { c.OVN.SB.Connection = []string{"tcp:[::1]:6642"} }},
		{"[OVN]\novn_nb_connection = tcp:10.0.0.1:6641,ssl:10.0.0.2:6641,\n  unix:/run/a,b", func(c *Config) {
			c.OVN.NB.Connection = []string{"tcp:10.0.0.1:6641", "ssl:10.0.0.2:6641", "unix:/run/a,b"}
		}},
		{"[ovn]\novn_nb_connection =", func(*Config) {}},
		{"[ovn]\novn_sb_private_key = k\novn_sb_certificate = c\novn_sb_ca_cert =", func(c *Config) {
			c.OVN.SB.PrivateKey, c.OVN.SB.Certificate, c.OVN.SB.CACert = "k", "c", ""
		}},
		{"[ovn]\novn_nb_private_key = k\novn_nb_certificate = c\novn_nb_ca_cert = a", func(c *Config) { c.OVN.NB.PrivateKey, c.OVN.NB.Certificate, c.OVN.NB.CACert = "k", "c", "a" }},
		{"[local_ovn_cluster]\novn_nb_connection = tcp:127.0.0.1:6641", func(c *Config) { c.LocalOVNCluster.NBConnection = []string{"tcp:127.0.0.1:6641"} }},
		{"[local_ovn_cluster]\nexternal_nics = eth1, eth2", func(c *Config) { c.LocalOVNCluster.ExternalNICs = []string{"eth1", "eth2"} }},
		{"[local_ovn_cluster]\npeer_ips = 100.64.1.5,fd00::5", func(c *Config) {
			c.LocalOVNCluster.PeerIPs = []netip.Addr{netip.MustParseAddr("100.64.1.5"), netip.MustParseAddr("fd00::5")}
		}},
		{"[local_ovn_cluster]\nprovider_networks_pool_prefixes = 172.16.0.0/16", func(c *Config) {
			c.LocalOVNCluster.ProviderNetworksPoolPrefixes = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/16")}
		}},
		{"[local_ovn_cluster]\nbgp_chassis_id = x", func(c *Config) { c.LocalOVNCluster.BGPChassisID = "x" }},
		{"[agent]\nroot_helper = sudo", func(*Config) {}},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			want := defaults()
			test.want(want)
			c, warnings, err := loadText(t, test.text)
			if err != nil || len(warnings) != 0 {
				t.Fatal(err, warnings)
			}
			if diff := cmp.Diff(want, c, like()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryDefaultIsValid: the tables hold no default that would be refused.
func TestEveryDefaultIsValid(t *testing.T) {
	seen := map[place]bool{}
	for _, o := range options() {
		for _, p := range append([]place{o.place}, o.former...) {
			if seen[p] {
				t.Errorf("%v stands twice", p)
			}
			seen[p] = true
		}
		if o.optional {
			continue
		}
		if err := o.set(&Config{}, o.fallback); err != nil {
			t.Errorf("default of %v: %v", o.place, err)
		}
	}
}

func TestSubstitution(t *testing.T) {
	tests := []struct{ name, text, want, wrong string }{
		{"an option", "[DEFAULT]\nbgp_nic = nic\nbgp_vrf = $bgp_nic-x", "nic-x", ""},
		{"a default", "[DEFAULT]\nbgp_vrf = v$bgp_AS", "v64999", ""},
		{"in braces", "[DEFAULT]\nbgp_nic = nic\nbgp_vrf = ${bgp_nic}_x", "nic_x", ""},
		{"of another section", "[DEFAULT]\nbgp_vrf = ${local_ovn_cluster.bgp_chassis_id}x", "bgpx", ""},
		{"through another", "[DEFAULT]\nbgp_nic = $evpn_nic\nevpn_nic = e\nbgp_vrf = x$bgp_nic", "xe", ""},
		{"unset is nothing", "[DEFAULT]\nbgp_vrf = x$bgp_router_id", "x", ""},
		{"dollar sign", "[DEFAULT]\nbgp_vrf = a$$b", "a$b", ""},
		{"backslash", "[DEFAULT]\nbgp_vrf = a\\$bgp_nic", "a$bgp_nic", ""},
		{"a lone dollar sign stays", "[DEFAULT]\nbgp_vrf = a$-b$", "a$-b$", ""},
		{"nothing is replaced twice", "[DEFAULT]\nbgp_nic = $$debug\nbgp_vrf = x$bgp_nic", "x$debug", ""},
		{"unknown", "[DEFAULT]\nbgp_vrf = $nic", "", "bgp-agent.conf:2: [DEFAULT] bgp_vrf = $nic: it refers to $nic, which is no option ($$ stands for a dollar sign)"},
		{"unknown in a section", "[DEFAULT]\nbgp_vrf = ${ovn.nic}", "", "bgp-agent.conf:2: [DEFAULT] bgp_vrf = ${ovn.nic}: it refers to ${ovn.nic}, which is no option ($$ stands for a dollar sign)"},
		{"itself", "[DEFAULT]\nbgp_vrf = x$bgp_vrf", "", "bgp-agent.conf:2: [DEFAULT] bgp_vrf = x$bgp_vrf: its value refers to itself by way of [DEFAULT] bgp_vrf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, _, err := loadText(t, test.text)
			if got := messages(t, err); got != test.wrong {
				t.Fatalf("got  %s\nwant %s", got, test.wrong)
			}
			if err == nil && c.BGPVRF != test.want {
				t.Errorf("got %q, want %q", c.BGPVRF, test.want)
			}
		})
	}
}

// TestSubstitutionLooksInItsSection: a name means the option of the same section
// before that of [DEFAULT].
func TestSubstitutionLooksInItsSection(t *testing.T) {
	c := mustLoad(t, "[DEFAULT]\nbgp_nic = n\n[local_ovn_cluster]\novn_nb_connection = tcp:1.1.1.1:1\nbgp_chassis_id = $ovn_nb_connection/$bgp_nic\n[ovn]\novn_nb_connection = tcp:2.2.2.2:2\n")
	if got, want := c.LocalOVNCluster.BGPChassisID, "tcp:1.1.1.1:1/n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
