package fabric

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Silence is a gomega matcher that says that something did not happen. Its methods
// return a changed copy.
type Silence struct {
	prefixes  []netip.Prefix // any when empty
	forbidden []Kind
	nodes     []string // any when empty
	since     Mark
	watch     time.Duration
	explain   string // of the last Match
}

// NeverWithdrawn claims that none of the prefixes, or no prefix at all when none
// is given, was withdrawn; not for a moment, and not by a lost session either.
func NeverWithdrawn(prefixes ...netip.Prefix) *Silence {
	return &Silence{prefixes: prefixes, forbidden: []Kind{Withdraw}}
}

// NeverAnnounced claims that no UPDATE announced one of the prefixes, or any
// prefix when none is given.
func NeverAnnounced(prefixes ...netip.Prefix) *Silence {
	return &Silence{prefixes: prefixes, forbidden: []Kind{Update}}
}

// Untouched claims that the prefixes, or all when none is given, saw neither
// UPDATE nor WITHDRAW.
func Untouched(prefixes ...netip.Prefix) *Silence {
	return &Silence{prefixes: prefixes, forbidden: []Kind{Update, Withdraw}}
}

// By limits the claim to what these nodes did.
func (s Silence) By(nodes ...string) *Silence {
	s.nodes = nodes
	return &s
}

// Since limits the claim to what happened after the mark.
func (s Silence) Since(mark Mark) *Silence {
	s.since = mark
	return &s
}

// For watches until d after the call. Without it only what is recorded counts.
func (s Silence) For(d time.Duration) *Silence {
	s.watch = d
	return &s
}

// Match implements gomega's matcher; a violation ends the watch at once.
func (s *Silence) Match(actual any) (bool, error) {
	t, err := timelineOf(actual)
	if err != nil {
		return false, err
	}
	broken := waitUntil(t, time.Now().Add(s.watch), func() bool {
		return slices.ContainsFunc(t.Since(s.since), s.forbids)
	})
	s.explain = explain(t, s.since, s.prefixes...)
	return !broken, nil
}

func (s *Silence) forbids(e Event) bool {
	return slices.Contains(s.forbidden, e.Kind) &&
		(len(s.prefixes) == 0 || slices.Contains(s.prefixes, e.Prefix)) &&
		(len(s.nodes) == 0 || slices.Contains(s.nodes, e.Source))
}

func (s *Silence) String() string {
	var kinds, prefixes []string
	for _, kind := range s.forbidden {
		kinds = append(kinds, kind.String())
	}
	for _, prefix := range s.prefixes {
		prefixes = append(prefixes, prefix.String())
	}
	text := fmt.Sprintf("%s of %s", strings.Join(kinds, " or "), cmp.Or(strings.Join(prefixes, ", "), "any prefix"))
	if len(s.nodes) > 0 {
		text += " by " + strings.Join(s.nodes, ", ")
	}
	if s.watch > 0 {
		text += fmt.Sprintf(" for %s", s.watch)
	}
	return text
}

// FailureMessage implements gomega's matcher.
func (s *Silence) FailureMessage(any) string { return "Expected no " + s.String() + "\n" + s.explain }

// NegatedFailureMessage implements gomega's matcher.
func (s *Silence) NegatedFailureMessage(any) string {
	return "Expected some " + s.String() + "\n" + s.explain
}
