package fabric

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// String is the whole timeline as a table, with times relative to its first event.
func (t *Timeline) String() string {
	events := t.Since(Mark{})
	if len(events) == 0 {
		return "(no events)\n"
	}
	return table(events, events[0].Time)
}

// Excerpt is the table of what happened since the mark to the prefixes, or to any
// when none is given, with the sessions' changes; times are relative to the mark.
func (t *Timeline) Excerpt(since Mark, prefixes ...netip.Prefix) string {
	var shown []Event
	for _, e := range t.Since(since) {
		if !e.Prefix.IsValid() || len(prefixes) == 0 || slices.Contains(prefixes, e.Prefix) {
			shown = append(shown, e)
		}
	}
	if len(shown) == 0 {
		return "(no events)\n"
	}
	zero := since.Time
	if zero.IsZero() {
		zero = shown[0].Time
	}
	return table(shown, zero)
}

// maxRows is how many events a table shows; the middle of a longer one is left out.
const maxRows = 200

func table(events []Event, zero time.Time) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for i, e := range events {
		if left := len(events) - maxRows; left > 0 && i >= maxRows/2 && i < maxRows/2+left {
			if i == maxRows/2 {
				fmt.Fprintf(w, "…\t\t(%d events)\t\n", left)
			}
			continue
		}
		fmt.Fprintf(w, "%+.3fs\t%s\t%s\t%s\n", e.Time.Sub(zero).Seconds(), e.Source, e.Kind, e.detail())
	}
	w.Flush() // writes to memory only
	return out.String()
}

func (e Event) detail() string {
	switch e.Kind {
	case Update:
		return fmt.Sprintf("%s%s from %s as-path %v%s", e.Prefix, e.via(), e.Session, e.ASPath, communityText(e.Communities))
	case Withdraw:
		return fmt.Sprintf("%s from %s (%s)", e.Prefix, e.Session, e.Cause)
	default:
		return e.Session.String()
	}
}

func (e Event) via() string {
	if !e.NextHop.IsValid() {
		return ""
	}
	return " via " + e.NextHop.String()
}

func communityText(communities []uint32) string {
	var out strings.Builder
	for i, c := range communities {
		out.WriteString([]string{" community ", ","}[min(i, 1)])
		fmt.Fprintf(&out, "%d:%d", c>>16, c&0xffff)
	}
	return out.String()
}
