package frr

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareAddr has cmp compare addresses as Go does.
var compareAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// unicast is an instance of which both families say the same.
func unicast(as uint32, id string, f Family) Instance {
	i := Instance{AS: as, Families: map[string]Family{"ipv4 unicast": f, "ipv6 unicast": f}}
	if id != "" {
		i.RouterID = addr(id)
	}
	return i
}

func TestParseRunning(t *testing.T) {
	connected := Family{Redistribute: []string{"connected"}}
	for file, want := range map[string]Running{
		"bgpd-8.4.running":       {Default: unicast(64999, "172.24.4.1", Family{Imports: []string{"bgp-vrf"}}), VRFs: map[string]Instance{"bgp-vrf": unicast(64999, "172.24.4.1", connected)}},
		"integrated-8.4.running": {Default: unicast(64999, "172.24.4.1", Family{Imports: []string{"bgp-vrf"}, Redistribute: []string{"connected"}}), VRFs: map[string]Instance{"bgp-vrf": unicast(64999, "172.24.4.1", connected)}},
		"asdot.running": {Default: unicast(65537, "", Family{Imports: []string{"red", "bgp-vrf"}}), VRFs: map[string]Instance{
			"bgp-vrf":  {AS: 65537, Families: map[string]Family{"ipv4 unicast": {Redistribute: []string{"connected", "kernel"}}}},
			"vrf-1001": {AS: 64999, Families: map[string]Family{"ipv4 unicast": {Redistribute: []string{"kernel", "connected"}}}},
		}},
		"none.running": {VRFs: map[string]Instance{}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRunning(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if d := cmp.Diff(want, got, compareAddr); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

func TestParseRunningRefuses(t *testing.T) {
	for _, text := range []string{
		"router bgp x\n",
		"router bgp 4294967296\n",
		"router bgp 65536.1\n",
		"router bgp 1\n bgp router-id x\n",
	} {
		if _, err := ParseRunning(text); err == nil {
			t.Errorf("accepted: %q", text)
		}
	}
}

func TestParseRouterID(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"vrfs":{"default":{"type":"DFLT","routerId":"172.24.4.1"},"bgp-vrf":{"type":"VRF","routerId":"192.0.2.1"}},"totalVrfs":2}`, "172.24.4.1"},
		{`{"vrfs":{"default":{"type":"DFLT","routerId":"0.0.0.0"}}}`, "invalid IP"},
		{`{"vrfs":{"bgp-vrf":{"type":"VRF","routerId":"192.0.2.1"}}}`, "invalid IP"},
		{`{"vrfs":{}}`, "invalid IP"},
		{`{}`, "invalid IP"},
	} {
		if got, err := parseRouterID(c.text); err != nil || got.String() != c.want {
			t.Errorf("%s: got %v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{"", "[]", `{"vrfs":{"default":{"type":"DFLT","routerId":"x"}}}`} {
		if _, err := parseRouterID(text); err == nil {
			t.Errorf("accepted: %q", text)
		}
	}
}

// FuzzParseRunning: no text panics, and what is understood lacks nothing once the
// correction is behind it.
func FuzzParseRunning(f *testing.F) {
	files, err := filepath.Glob("testdata/*.running")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseRunning(text); err != nil {
			return
		}
		running, err := ParseRunning(text + "\n" + leaks["underlay.conf"].Config())
		if err != nil {
			t.Fatal(err)
		}
		if missing := leaks["underlay.conf"].Missing(running); len(missing) > 0 {
			t.Errorf("missing: %q", missing)
		}
	})
}
