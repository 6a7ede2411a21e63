package fabric

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
)

var (
	_ types.GomegaMatcher = (*Claim)(nil)
	_ types.GomegaMatcher = (*Silence)(nil)
)

func TestMatchersOnARecord(t *testing.T) {
	start := time.Now().Add(-time.Hour)
	// A live migration: vm1 moves from cmp1 to cmp2, vm2 stays on cmp1.
	tl := timelineWith(script(start,
		"cmp1 update 172.24.4.10/32",   // 0 s
		"cmp1 update 2001:db8::10/128", // 1 s
		"cmp1 withdraw 172.24.4.10/32", // 2 s
		"cmp2 update 172.24.4.10/32",   // 3 s
	))
	mark := Mark{Seq: 2, Time: start.Add(1500 * time.Millisecond)}
	other := netip.MustParsePrefix("203.0.113.0/24")
	tests := map[string]struct {
		matcher types.GomegaMatcher
		want    bool
	}{
		"announced by some node":                {Announced(vm1), true},
		"announced by its node":                 {Announced(vm1).By("cmp2"), true},
		"announced by the old node":             {Announced(vm1).By("cmp1"), false},
		"announced by both":                     {Announced(vm1).By("cmp1", "cmp2"), false},
		"announced by exactly one":              {Announced(vm1).OnlyBy("cmp2"), true},
		"announced by exactly two":              {Announced(vm1).OnlyBy("cmp2", "cmp1"), false},
		"announced never":                       {Announced(other), false},
		"announced since the mark":              {Announced(vm1).By("cmp2").Since(mark), true},
		"announced before the mark only":        {Announced(vm2).By("cmp1").Since(mark), false},
		"announced in time":                     {Announced(vm1).Since(mark).Within(2 * time.Second), true},
		"announced too late":                    {Announced(vm1).Since(mark).Within(time.Second), false},
		"withdrawn by the old node":             {Withdrawn(vm1).By("cmp1").Since(mark), true},
		"withdrawn in time":                     {Withdrawn(vm1).By("cmp1").Since(mark).Within(time.Second), true},
		"withdrawn too late":                    {Withdrawn(vm1).By("cmp1").Since(mark).Within(100 * time.Millisecond), false},
		"withdrawn by all":                      {Withdrawn(vm1).Since(mark), false},
		"withdrawn by the new node":             {Withdrawn(vm1).By("cmp2"), false},
		"withdrawn but never announced":         {Withdrawn(other), false},
		"never withdrawn":                       {NeverWithdrawn(vm2).Since(mark), true},
		"never withdrawn, but was":              {NeverWithdrawn(vm1).Since(mark), false},
		"never withdrawn, by the other node":    {NeverWithdrawn(vm1).By("cmp2").Since(mark), true},
		"never withdrawn, any prefix":           {NeverWithdrawn().Since(mark), false},
		"never announced":                       {NeverAnnounced(other), true},
		"never announced since":                 {NeverAnnounced(vm2).Since(mark), true},
		"never announced, but was":              {NeverAnnounced(vm1).Since(mark), false},
		"untouched":                             {Untouched(vm2, other).Since(mark), true},
		"untouched, but one was":                {Untouched(vm2, vm1).Since(mark), false},
		"untouched, but announced":              {Untouched(vm2), false},
		"nothing since the end":                 {Untouched().Since(Mark{Seq: 4}), true},
		"negative claim with a time to look on": {NeverAnnounced(other).For(10 * time.Millisecond), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.matcher.Match(tl)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("matches: %t, want %t\n%s", got, test.want, test.matcher.FailureMessage(tl))
			}
		})
	}
}

func TestClaimWaitsForTheEvent(t *testing.T) {
	tl := NewTimeline()
	go tl.Record(Event{Source: "cmp1", Kind: Update, Prefix: vm1})
	ok, err := Announced(vm1).By("cmp1").Within(10 * time.Second).Match(tl)
	if err != nil || !ok {
		t.Errorf("Match = %t, %v, want true", ok, err)
	}
}

func TestSilenceEndsAtTheViolation(t *testing.T) {
	tl := NewTimeline()
	go tl.Record(Event{Source: "cmp1", Kind: Update, Prefix: vm1})
	began := time.Now()
	ok, err := NeverAnnounced(vm1).For(time.Minute).Match(tl)
	if err != nil || ok || time.Since(began) > 30*time.Second {
		t.Errorf("Match = %t, %v after %s, want false at once", ok, err, time.Since(began))
	}
}

func TestFailureMessageShowsWhatTheFabricSaw(t *testing.T) {
	start := time.Now()
	tl := timelineWith(script(start, "cmp1 update 172.24.4.10/32", "cmp2 down", "cmp2 update 2001:db8::10/128"))
	matcher := Announced(vm1).By("cmp2").Since(Mark{Time: start}).Within(time.Nanosecond)
	if ok, err := matcher.Match(tl); ok || err != nil {
		t.Fatalf("Match = %t, %v, want false", ok, err)
	}
	want := `Expected 172.24.4.10/32 to be announced by cmp2 within 1ns
172.24.4.10/32 is announced now by: cmp1
Events since the mark, in seconds from it:
+0.000s  cmp1  update        172.24.4.10/32 from 192.0.2.1 as-path []
+1.000s  cmp2  session down  192.0.2.1
`
	if got := matcher.FailureMessage(tl); got != want {
		t.Errorf("FailureMessage:\n%s\nwant:\n%s", got, want)
	}
}

func TestMatcherRefusesOtherValues(t *testing.T) {
	if _, err := Announced(vm1).Match("text"); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("Match of a string: error %v, want one that names the type", err)
	}
}
