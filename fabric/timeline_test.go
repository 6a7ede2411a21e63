package fabric

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	vm1 = netip.MustParsePrefix("172.24.4.10/32")
	vm2 = netip.MustParsePrefix("2001:db8::10/128")
)

// script builds events a second apart, from "node kind prefix" lines; a node
// "cmp1/2" is the second session of cmp1.
func script(start time.Time, lines ...string) []Event {
	kinds := map[string]Kind{"update": Update, "withdraw": Withdraw, "up": SessionUp, "down": SessionDown}
	var events []Event
	for i, line := range lines {
		fields := strings.Fields(line)
		node, second, _ := strings.Cut(fields[0], "/")
		e := Event{
			Time:    start.Add(time.Duration(i) * time.Second),
			Source:  node,
			Session: netip.MustParseAddr("192.0.2.1" + second),
			Kind:    kinds[fields[1]],
		}
		if len(fields) > 2 {
			e.Prefix = netip.MustParsePrefix(fields[2])
			e.Cause = CauseUpdate
		}
		events = append(events, e)
	}
	return events
}

func timelineWith(events []Event) *Timeline {
	tl := NewTimeline()
	for _, e := range events {
		tl.Record(e)
	}
	return tl
}

func TestRoutesFollowFromEvents(t *testing.T) {
	tests := map[string]struct {
		script []string
		want   map[netip.Prefix][]string
	}{
		"two nodes announce": {
			script: []string{"cmp2 update 172.24.4.10/32", "cmp1 update 172.24.4.10/32"},
			want:   map[netip.Prefix][]string{vm1: {"cmp1", "cmp2"}},
		},
		"a withdrawal removes its node only": {
			script: []string{"cmp1 update 172.24.4.10/32", "cmp2 update 172.24.4.10/32", "cmp1 withdraw 172.24.4.10/32"},
			want:   map[netip.Prefix][]string{vm1: {"cmp2"}},
		},
		"a repeated announcement is one route": {
			script: []string{"cmp1 update 172.24.4.10/32", "cmp1 update 172.24.4.10/32", "cmp1 withdraw 172.24.4.10/32"},
			want:   map[netip.Prefix][]string{},
		},
		"a node announces until its last session withdraws": {
			script: []string{"cmp1 update 172.24.4.10/32", "cmp1/2 update 172.24.4.10/32", "cmp1 withdraw 172.24.4.10/32"},
			want:   map[netip.Prefix][]string{vm1: {"cmp1"}},
		},
		"a withdrawal of what was never announced": {
			script: []string{"cmp1 withdraw 172.24.4.10/32"},
			want:   map[netip.Prefix][]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tl := timelineWith(script(time.Now(), test.script...))
			if diff := cmp.Diff(test.want, tl.Routes(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("Routes() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoutesOfIsSorted(t *testing.T) {
	tl := timelineWith(script(time.Now(),
		"cmp1 update 2001:db8::10/128", "cmp1 update 172.24.4.10/32", "cmp1 update 172.24.4.0/24", "cmp2 update 10.0.0.0/8"))
	want := "[172.24.4.0/24 172.24.4.10/32 2001:db8::10/128]"
	if got := prefixText(tl.RoutesOf("cmp1")); got != want {
		t.Errorf("RoutesOf(cmp1) = %s, want %s", got, want)
	}
}

func prefixText(prefixes []netip.Prefix) string {
	var texts []string
	for _, p := range prefixes {
		texts = append(texts, p.String())
	}
	return "[" + strings.Join(texts, " ") + "]"
}

func TestOverlapAndGap(t *testing.T) {
	start := time.Now().Add(-time.Hour)
	migration := []string{
		"cmp1 update 172.24.4.10/32",   // 0 s
		"cmp2 update 172.24.4.10/32",   // 1 s
		"cmp1 update 2001:db8::10/128", // 2 s
		"cmp1 withdraw 172.24.4.10/32", // 3 s
		"cmp2 withdraw 172.24.4.10/32", // 4 s
		"cmp2 update 172.24.4.10/32",   // 5 s
	}
	tests := map[string]struct {
		since        Mark
		overlap, gap time.Duration
	}{
		"whole":              {Mark{}, 2 * time.Second, time.Second},
		"mark in the middle": {Mark{Seq: 2, Time: start.Add(1500 * time.Millisecond)}, 1500 * time.Millisecond, time.Second},
		"mark in the gap":    {Mark{Seq: 5, Time: start.Add(4750 * time.Millisecond)}, 0, 250 * time.Millisecond},
		"mark after all":     {Mark{Seq: 6, Time: start.Add(6 * time.Second)}, 0, 0},
	}
	tl := timelineWith(script(start, migration...))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tl.Overlap(test.since, vm1); got != test.overlap {
				t.Errorf("Overlap = %s, want %s", got, test.overlap)
			}
			if got := tl.Gap(test.since, vm1); got != test.gap {
				t.Errorf("Gap = %s, want %s", got, test.gap)
			}
		})
	}
}

func TestGapThatLastsCountsUpToNow(t *testing.T) {
	tl := timelineWith(script(time.Now().Add(-time.Minute), "cmp1 update 172.24.4.10/32", "cmp1 withdraw 172.24.4.10/32"))
	if got := tl.Gap(Mark{}, vm1); got < 58*time.Second {
		t.Errorf("Gap = %s, want almost a minute", got)
	}
}

func TestTableText(t *testing.T) {
	events := script(time.Now(), "cmp1 up", "cmp1 update 172.24.4.10/32", "cmp1 withdraw 172.24.4.10/32")
	events[1].NextHop = netip.MustParseAddr("192.0.2.9")
	events[1].ASPath = []uint32{64999}
	events[1].Communities = []uint32{65000<<16 | 7, 65000<<16 | 8}
	want := `
+0.000s  cmp1  session up  192.0.2.1
+1.000s  cmp1  update      172.24.4.10/32 via 192.0.2.9 from 192.0.2.1 as-path [64999] community 65000:7,65000:8
+2.000s  cmp1  withdraw    172.24.4.10/32 from 192.0.2.1 (update)
`
	if diff := cmp.Diff(want[1:], timelineWith(events).String()); diff != "" {
		t.Errorf("String() (-want +got):\n%s", diff)
	}
}

func TestLongTableLeavesTheMiddleOut(t *testing.T) {
	var lines []string
	for range 2 * maxRows {
		lines = append(lines, "cmp1 update 172.24.4.10/32")
	}
	text := timelineWith(script(time.Now(), lines...)).String()
	if rows := strings.Count(text, "\n"); rows != maxRows+1 || !strings.Contains(text, "(200 events)") {
		t.Errorf("table of %d events has %d rows:\n%s", 2*maxRows, rows, text)
	}
}
