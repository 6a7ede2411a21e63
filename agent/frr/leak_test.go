package frr

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// leaks are the golden files' leaks, by file name.
var leaks = map[string]Leak{
	"underlay.conf": {64999, "bgp-vrf", addr("172.24.4.1"), []string{"connected"}},
	"l2.conf":       {64999, "bgp-vrf", addr("172.24.4.1"), []string{"kernel"}},
	"subnet.conf":   {4200000000, "bgp-vrf-2", addr("192.0.2.1"), []string{"connected", "kernel"}},
}

func TestConfig(t *testing.T) {
	for name, leak := range leaks {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(leak.Config()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), leak.Config()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestFRRTakesConfig hands each golden text to a real FRR.
func TestFRRTakesConfig(t *testing.T) {
	for name, leak := range leaks {
		t.Run(name, func(t *testing.T) {
			r := startRouter(t, "")
			r.configure(leak.Config())
			r.complete(leak)
		})
	}
}

func TestMissing(t *testing.T) {
	underlay := leaks["underlay.conf"]
	complete := func() Running {
		r, err := ParseRunning(underlay.Config())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		name   string
		leak   Leak
		change func(*Running)
		want   []string
	}{
		{"nothing", underlay, func(*Running) {}, nil},
		{"everything", underlay, func(r *Running) { *r = Running{} }, []string{
			"router bgp 64999 / address-family ipv4 unicast / import vrf bgp-vrf",
			"router bgp 64999 / address-family ipv6 unicast / import vrf bgp-vrf",
			"router bgp 64999 vrf bgp-vrf",
			"router bgp 64999 vrf bgp-vrf / bgp router-id 172.24.4.1",
			"router bgp 64999 vrf bgp-vrf / address-family ipv4 unicast / redistribute connected",
			"router bgp 64999 vrf bgp-vrf / address-family ipv6 unicast / redistribute connected",
		}},
		{"import of another VRF only", underlay, func(r *Running) {
			r.Default.Families["ipv6 unicast"] = Family{Imports: []string{"bgp-vrf2"}}
		}, []string{"router bgp 64999 / address-family ipv6 unicast / import vrf bgp-vrf"}},
		{"other router-id", Leak{64999, "bgp-vrf", addr("192.0.2.9"), []string{"connected"}}, func(*Running) {},
			[]string{"router bgp 64999 vrf bgp-vrf / bgp router-id 192.0.2.9"}},
		{"other source", Leak{64999, "bgp-vrf", addr("172.24.4.1"), []string{"kernel"}}, func(*Running) {}, []string{
			"router bgp 64999 vrf bgp-vrf / address-family ipv4 unicast / redistribute kernel",
			"router bgp 64999 vrf bgp-vrf / address-family ipv4 unicast / no redistribute connected",
			"router bgp 64999 vrf bgp-vrf / address-family ipv6 unicast / redistribute kernel",
			"router bgp 64999 vrf bgp-vrf / address-family ipv6 unicast / no redistribute connected",
		}},
		{"source of an operator", underlay, func(r *Running) {
			r.VRFs["bgp-vrf"].Families["ipv4 unicast"] = Family{Redistribute: []string{"static", "connected"}}
		}, nil},
	} {
		running := complete()
		c.change(&running)
		if got := c.leak.Missing(running); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}
