package ovsdb

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// program runs a real OVS or OVN program and returns its trimmed output.
func program(t *testing.T, name string, args ...string) string {
	t.Helper()
	needPrograms(t, name)
	out, err := exec.CommandContext(testContext(t), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestOVSDBClient(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	at := m.Endpoint()
	if got := program(t, "ovsdb-client", "list-dbs", at); got != "OVN_Northbound\n_Server" {
		t.Errorf("list-dbs: %q", got)
	}
	if got := program(t, "ovsdb-client", "get-schema-version", at, "OVN_Northbound"); got != m.Schema().Version() {
		t.Errorf("get-schema-version: %q", got)
	}
	if got := program(t, "ovsdb-client", "get-schema", at, "OVN_Northbound"); !strings.Contains(got, `"gateway_port"`) {
		t.Errorf("get-schema: %q", got)
	}
	got := program(t, "ovsdb-client", "transact", at, `["OVN_Northbound",{"op":"insert","table":"Logical_Switch","row":{"name":"sw0"}}]`)
	if !strings.Contains(got, `[{"uuid":["uuid",`) {
		t.Errorf("transact: %q", got)
	}
	if got := program(t, "ovsdb-client", "--no-headings", "--format=csv", "dump", at, "OVN_Northbound", "Logical_Switch", "name"); !strings.Contains(got, "sw0") {
		t.Errorf("dump: %q", got)
	}
	if got := program(t, "ovsdb-client", "dump", at); !strings.Contains(got, "Logical_Switch table") {
		t.Errorf("dump of everything: %q", got)
	}
}

func TestOVSDBClientMonitorsConditions(t *testing.T) {
	needPrograms(t, "ovsdb-client")
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	cmd := exec.CommandContext(ctx, "ovsdb-client", "--no-headings", "--format=csv", "--data=bare", "monitor-cond", m.Endpoint(), "OVN_Northbound", `[["name","==","wanted"]]`, "Logical_Switch", "name")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the monitor is registered", func() bool {
		m.main.mu.Lock()
		defer m.main.mu.Unlock()
		return len(m.main.monitors) == 1
	})
	for _, name := range []string{"other", "wanted", "last"} {
		if _, err := m.Transact(ctx, Insert("Logical_Switch", "", Row{"name": name})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Transact(ctx, Update("Logical_Switch", Row{"name": "renamed"}, Is("name", "wanted"))); err != nil {
		t.Fatal(err)
	}
	var words []string
	for lines := bufio.NewScanner(out); len(words) < 2 && lines.Scan(); {
		if f := strings.Split(lines.Text(), ","); len(f) == 3 {
			words = append(words, strings.TrimSpace(f[1]+" "+f[2]))
		}
	}
	stop()
	_ = cmd.Wait()                                                               // killed by stop
	if want := []string{"insert wanted", "delete"}; !slices.Equal(words, want) { // update2 shows no values of a deleted row
		t.Errorf("monitor showed %q, want %q", words, want)
	}
}

func TestOVNNbctl(t *testing.T) {
	for _, release := range []string{"23.03", ""} {
		m := startMemory(t, builtin(t, "OVN_Northbound", release))
		nbctl := func(args ...string) string {
			return program(t, "ovn-nbctl", append([]string{"--db=" + m.Endpoint()}, args...)...)
		}
		nbctl("ls-add", "sw0", "--", "lsp-add", "sw0", "p0", "--", "lsp-set-addresses", "p0", "fa:16:3e:00:00:01 10.0.0.5")
		nbctl("lr-add", "r0", "--", "lrp-add", "r0", "lrp0", "fa:16:3e:00:00:02", "10.0.0.1/24")
		nbctl("lr-nat-add", "r0", "dnat_and_snat", "172.24.4.10", "10.0.0.5")
		nbctl("set", "Logical_Switch_Port", "p0", "options:requested-chassis=host1", "up=true")
		nbctl("lb-add", "lb0", "172.24.4.9:80", "10.0.0.5:80", "--", "ls-lb-add", "sw0", "lb0")
		if got := nbctl("get", "Logical_Switch_Port", "p0", "up"); got != "true" {
			t.Errorf("up is %q", got)
		}
		if got := nbctl("show"); !strings.Contains(got, "172.24.4.10") || !strings.Contains(got, "p0") {
			t.Errorf("show: %s", got)
		}
		nbctl("lsp-del", "p0")
		if got := nbctl("list", "Logical_Switch_Port"); got != "" {
			t.Errorf("ports left: %s", got)
		}
		nbctl("ls-del", "sw0", "--", "lr-del", "r0")
	}
}

func TestOVNSbctl(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Southbound"))
	sbctl := func(args ...string) string {
		return program(t, "ovn-sbctl", append([]string{"--db=" + m.Endpoint()}, args...)...)
	}
	sbctl("chassis-add", "ch1", "geneve", "192.0.2.1")
	if got := sbctl("show"); !strings.Contains(got, "192.0.2.1") {
		t.Errorf("show: %s", got)
	}
	sbctl("chassis-del", "ch1")
	if got := sbctl("list", "Encap"); got != "" {
		t.Errorf("encaps left: %s", got)
	}
}

func TestOVSVsctl(t *testing.T) {
	m := startMemory(t, builtin(t, "Open_vSwitch"))
	vsctl := func(args ...string) string {
		return program(t, "ovs-vsctl", append([]string{"--db=" + m.Endpoint(), "--no-wait"}, args...)...)
	}
	vsctl("init")
	vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=ch1", "external_ids:ovn-bridge-mappings=public:br-ex")
	vsctl("add-br", "br-ex", "--", "add-port", "br-ex", "patch0", "--", "set", "Interface", "patch0", "type=patch", "options:peer=patch1")
	vsctl("add-port", "br-ex", "patch0b", "--", "set", "Interface", "patch0b", "ofport=7")
	if got := vsctl("get", "Interface", "patch0b", "ofport"); got != "7" {
		t.Errorf("ofport is %q", got)
	}
	if got := vsctl("list-ports", "br-ex"); got != "patch0\npatch0b" {
		t.Errorf("list-ports: %q", got)
	}
	if got := vsctl("get", "Open_vSwitch", ".", "external_ids:system-id"); got != "ch1" && got != `"ch1"` {
		t.Errorf("system-id is %q", got)
	}
	vsctl("del-port", "patch0")
	vsctl("del-br", "br-ex")
	if got := vsctl("list", "Interface"); got != "" {
		t.Errorf("interfaces left: %s", got)
	}
}
