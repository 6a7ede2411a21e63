package cloud

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ovn-bgp-agent/sim/ovsdb"
)

func TestVSwitchPatchPorts(t *testing.T) {
	ctx := testContext(t)
	db := server(t, "Open_vSwitch")
	v, err := NewVSwitch(ctx, db, map[string]string{"system-id": "ch1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, bridge := range []string{"br-ex", "br-vlan"} {
		if err := v.AddBridge(ctx, bridge); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Add(ctx, "br-ex", "provnet-1"); err != nil {
		t.Fatal(err)
	}
	v.Ofports(func(string) []int { return nil })
	if err := v.Add(ctx, "br-vlan", "provnet-2"); err != nil {
		t.Fatal(err)
	}
	provider, integration := PatchPortNames("provnet-1")
	if provider != "patch-provnet-1-to-br-int" || integration != "patch-br-int-to-provnet-1" {
		t.Errorf("names %s, %s", provider, integration)
	}
	i := interfaceRow(ctx, t, db, provider)
	if i["type"] != "patch" || ovsdb.StringMap(i["options"])["peer"] != integration || fmt.Sprint(i["ofport"]) != "1" {
		t.Errorf("interface %v", i)
	}
	empty, _ := PatchPortNames("provnet-2")
	if got := ovsdb.Strings(interfaceRow(ctx, t, db, empty)["ofport"]); len(got) != 0 {
		t.Errorf("ofport is %v, want none", got)
	}
	for _, ofport := range [][]int{{-1}, {5}, {}} {
		if err := v.SetOfport(ctx, empty, ofport...); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ovsdb.Strings(interfaceRow(ctx, t, db, empty)["ofport"]), " "); got != strings.Trim(fmt.Sprint(ofport), "[]") {
			t.Errorf("ofport is %q, want %v", got, ofport)
		}
	}
	if err := v.SetOfport(ctx, "nope", 1); err == nil {
		t.Error("an unknown interface has an ofport now")
	}
	if err := v.Add(ctx, "nobridge", "provnet-3"); err == nil {
		t.Error("a patch port was made on a bridge that does not exist")
	}
	if err := v.Remove(ctx, "br-ex", "provnet-1"); err != nil {
		t.Fatal(err)
	}
	if err := v.Remove(ctx, "br-ex", "provnet-1"); err != nil {
		t.Fatal(err) // removing what is gone is no error
	}
	if got := portNames(ctx, t, db); !slices.Equal(got, []string{"br-ex", "br-int", "br-vlan", "patch-br-int-to-provnet-2", "patch-provnet-2-to-br-int"}) {
		t.Errorf("ports %q", got)
	}
}

func interfaceRow(ctx context.Context, t *testing.T, db ovsdb.Server, name string) map[string]any {
	t.Helper()
	results, err := db.Transact(ctx, ovsdb.Select("Interface", nil, ovsdb.Is("name", name)))
	if err != nil || len(results[0].Rows) != 1 {
		t.Fatalf("interface %s: %v %v", name, results, err)
	}
	return results[0].Rows[0]
}

func portNames(ctx context.Context, t *testing.T, db ovsdb.Server) []string {
	t.Helper()
	results, err := db.Transact(ctx, ovsdb.Select("Port", []string{"name"}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range results[0].Rows {
		names = append(names, fmt.Sprint(r["name"]))
	}
	slices.Sort(names)
	return names
}

func TestVsctlMakesTheSameRows(t *testing.T) {
	if _, err := exec.LookPath("ovs-vsctl"); err != nil {
		t.Skip("ovs-vsctl is not installed")
	}
	ctx := testContext(t)
	db := server(t, "Open_vSwitch")
	v, err := NewVSwitch(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.AddBridge(ctx, "br-ex"); err != nil {
		t.Fatal(err)
	}
	ctl := Vsctl{Run: func(ctx context.Context, name string, args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, name, append([]string{"--db=" + db.Endpoint(), "--no-wait"}, args...)...).CombinedOutput()
		return string(out), err
	}}
	v.Ofports(func(string) []int { return nil })
	for range 2 {
		if err := ctl.Add(ctx, "br-ex", "by-vsctl"); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Add(ctx, "br-ex", "by-vswitch"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"Port", "Interface"} {
		for _, name := range []string{"patch-%s-to-br-int", "patch-br-int-to-%s"} {
			one, other := rowText(ctx, t, db, table, name, "by-vsctl"), rowText(ctx, t, db, table, name, "by-vswitch")
			if one != other {
				t.Errorf("%s: ovs-vsctl made\n%s\nthe vswitch\n%s", table, one, other)
			}
		}
	}
	for range 2 {
		if err := ctl.Remove(ctx, "br-ex", "by-vsctl"); err != nil {
			t.Fatal(err)
		}
	}
	if got := portNames(ctx, t, db); len(got) != 4 {
		t.Errorf("ports %q", got)
	}
	if err := ctl.Add(ctx, "nobridge", "x"); err == nil || !strings.Contains(err.Error(), "nobridge") {
		t.Errorf("got %v", err)
	}
	failing := Vsctl{Run: func(context.Context, string, ...string) (string, error) { return "text", errors.New("exit status 1") }}
	if err := failing.Remove(ctx, "br-ex", "x"); err == nil || !strings.Contains(err.Error(), "exit status 1: text") {
		t.Errorf("got %v", err)
	}
}

// rowText is a row with the localnet's name and the references made neutral.
func rowText(ctx context.Context, t *testing.T, db ovsdb.Server, table, format, localnet string) string {
	t.Helper()
	results, err := db.Transact(ctx, ovsdb.Select(table, nil, ovsdb.Is("name", fmt.Sprintf(format, localnet))))
	if err != nil || len(results[0].Rows) != 1 {
		t.Fatalf("%s %s: %v %v", table, localnet, results, err)
	}
	row := results[0].Rows[0]
	for _, column := range []string{"_uuid", "_version", "interfaces"} {
		delete(row, column)
	}
	return strings.ReplaceAll(fmt.Sprint(row), localnet, "LOCALNET")
}
