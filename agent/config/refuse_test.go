package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestRefused: each line is a setting that is refused by itself; the golden file has
// what is said.
func TestRefused(t *testing.T) {
	settings := []string{
		"DEFAULT reconcile_interval = 0",
		"DEFAULT reconcile_interval = -5",
		"DEFAULT reconcile_interval = 4294967296",
		"DEFAULT reconcile_interval = 300s",
		"DEFAULT reconcile_interval =",
		"DEFAULT frr_reconcile_interval = 0",
		"DEFAULT ovsdb_connection_timeout = 0",
		"DEFAULT driver = nb",
		"DEFAULT driver = nb_ovn_bgp_driver\n  # exposing_method = vrf",
		"DEFAULT driver = ovn_evpn_driver",
		"DEFAULT driver = ovn_stretched_l2_bgp_driver",
		"DEFAULT exposing_method = Underlay",
		"DEFAULT exposing_method = l2vni",
		"DEFAULT exposing_method = dynamic",
		"DEFAULT exposing_method = vrf",
		"DEFAULT expose_tenant_networks = maybe",
		"DEFAULT expose_tenant_networks = True",
		"DEFAULT expose_ipv6_gua_tenant_networks = on",
		"DEFAULT clear_vrf_routes_on_startup = on",
		"DEFAULT advertisement_method_tenant_networks = prefix",
		"DEFAULT ovsdb_connection = /run/openvswitch/db.sock",
		"DEFAULT ovsdb_connection = tcp:127.0.0.1:6640,tcp:127.0.0.2:6640",
		"DEFAULT bgp_AS = 0",
		"DEFAULT bgp_AS = 4294967296",
		"DEFAULT bgp_AS = 1.65536",
		"DEFAULT bgp_AS = AS64999",
		"DEFAULT bgp_AS =",
		"DEFAULT bgp_router_id = fd00::1",
		"DEFAULT bgp_router_id = 0.0.0.0",
		"DEFAULT bgp_nic = abcdefghijklmnop",
		"DEFAULT bgp_nic = a/b",
		"DEFAULT bgp_nic = bgp nic",
		"DEFAULT bgp_nic = bgp-vrf",
		"DEFAULT bgp_vrf = bgp-nic",
		"DEFAULT bgp_vrf =",
		"DEFAULT bgp_vrf_table_id = 0",
		"DEFAULT bgp_vrf_table_id = 254",
		"DEFAULT bgp_vrf_table_id = 4294967296",
		"DEFAULT evpn_local_ip = 10.0.0.0/8",
		"DEFAULT evpn_udp_dstport = 65536",
		"DEFAULT status_socket = status.sock",
		"DEFAULT status_socket = /" + strings.Repeat("x", 107),
		"DEFAULT mass_withdraw_guard = never",
		"DEFAULT rate_limit_except_level = LOUD",
		"DEFAULT max_logfile_count = many",
		"ovn ovn_nb_connection = 10.0.0.1:6641",
		"ovn ovn_nb_connection = tcp:10.0.0.1",
		"ovn ovn_nb_connection = tcp:10.0.0.1:6641,tcp:10.0.0.2:0",
		"ovn ovn_nb_connection = tcp:fd00::1:6641",
		"ovn ovn_nb_connection = unix:",
		"ovn ovn_nb_connection = ,",
		"DEFAULT ovn_sb_connection = http://x",
		"local_ovn_cluster peer_ips = 100.64.1.5, fabric",
		"local_ovn_cluster external_nics = eth0,,eth1",
		"local_ovn_cluster provider_networks_pool_prefixes = 192.168.0.0",
		"local_ovn_cluster bgp_chassis_id =",
		"privsep thread_pool_size = 0",
	}
	var got strings.Builder
	for _, s := range settings {
		section, rest, _ := strings.Cut(s, " ")
		_, _, err := loadText(t, fmt.Sprintf("[%s]\n%s\n", section, rest))
		said := messages(t, err)
		if err == nil {
			said = "accepted: " + s
		}
		fmt.Fprintln(&got, said)
	}
	golden(t, "refused.golden", got.String())
}

// TestRefusedTogether: all problems are told, in the order of the files, and with the
// value that was judged.
func TestRefusedTogether(t *testing.T) {
	dir := t.TempDir()
	one := write(t, dir, "one.conf", "driver = early\n[DEFAULT]\ndriver = nb_ovn_bgp_driver\n  # exposing\nbgp_AS = x\nexposing_method = ovn\n[ovn\n")
	two := write(t, dir, "two.conf", "[DEFAULT]\nexpose_tenant_networks = True\nadvertisement_method_tenant_networks = subnet\ndriver = nb_ovn_bgp_driver\nbgp_nic = $bgp_vrf\n")
	sources := Sources{Files: []string{one, two}, Env: []string{"HOME=" + dir, "OS_DEFAULT__BGP_ROUTER_ID=none"}}
	_, _, err := load(sources, host{root: dir})
	golden(t, "together.golden", messages(t, err)+"\n")
}

// TestMethodsByDriver: the Southbound driver has but one method (config.md C2).
func TestMethodsByDriver(t *testing.T) {
	_, _, err := loadText(t, "[DEFAULT]\nexposing_method = ovn\n")
	if want := "bgp-agent.conf:2: [DEFAULT] exposing_method = ovn: ovn_bgp_driver works with underlay only"; messages(t, err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestMistypedDriver: what no driver can do is told along with it.
func TestMistypedDriver(t *testing.T) {
	_, _, err := loadText(t, "[DEFAULT]\ndriver = x\nexposing_method = l2vni\nexpose_tenant_networks = on\n")
	want := "bgp-agent.conf:2: [DEFAULT] driver = x: must be one of ovn_bgp_driver, ovn_evpn_driver, ovn_stretched_l2_bgp_driver, nb_ovn_bgp_driver\n" +
		"bgp-agent.conf:3: [DEFAULT] exposing_method = l2vni: there is no wiring for this method: no agent has ever worked with it\n" +
		"bgp-agent.conf:4: [DEFAULT] expose_tenant_networks = on: not implemented in this version"
	if got := messages(t, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTLSFiles: whichever remote is ssl:, its files are wanted (config.md C9), those
// of the other database are not.
func TestTLSFiles(t *testing.T) {
	_, _, err := loadText(t, "[DEFAULT]\ndriver = nb_ovn_bgp_driver\n[ovn]\novn_nb_connection = tcp:1.1.1.1:1,ssl:1.1.1.1:2\novn_nb_ca_cert =\novn_sb_ca_cert =\n")
	if want := `bgp-agent.conf:5: [ovn] ovn_nb_ca_cert = "": must name a file: a remote is ssl:`; messages(t, err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	pem := write(t, t.TempDir(), "x.pem", "")
	text := "[DEFAULT]\novsdb_connection = ssl:1.1.1.1:1\n[ovn]\novn_sb_private_key = " + pem + "\novn_sb_certificate = /none.pem\novn_sb_ca_cert = " + pem + "\n"
	_, warnings, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"bgp-agent.conf:5: [ovn] ovn_sb_certificate: the remotes with ssl: cannot be reached yet: stat /none.pem: no such file or directory"}
	if diff := cmp.Diff(want, said(warnings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func said(warnings []Warning) []string {
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	return lines
}

func TestWarnings(t *testing.T) {
	text := `[DEFAULT]
bpg_AS = 1
bpg_AS = 2
bgp_as = 3
log-file = /x
zzz = 1
peer_ips = 1.1.1.1
ovn_nb_connection = tcp:1.1.1.1:1
debug = $$x
debug = False
logfile = /x
use_syslog = True
use_journal = no
use_stderr = 0
graceful_shutdown_timeout = 60
[ovm]
a = 1
b = 2
[default]
debug = True
[agent]
root_helper = sudo nova-rootwrap
[local_ovn_cluster]
ovn_sb_connection = tcp:1.1.1.1:1
[something_else]
a = 1
[ovm]
c = 1
`
	_, warnings, err := loadText(t, text, "OS_DEFAULT__BGP_AZ=1", "OS_OTHER__X=1", "OS_AUTH_URL=x", "OS_OVN__OVN_SB_CONNECTION=tcp:1.1.1.1:1", "X_DEFAULT__Y=1")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "warnings.golden", strings.Join(said(warnings), "\n")+"\n")
}
