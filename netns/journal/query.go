package journal

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// Predicate selects entries.
type Predicate struct {
	name  string
	match func(Entry) bool
}

// Where makes a predicate of a function; name is for messages.
func Where(name string, match func(Entry) bool) Predicate { return Predicate{name, match} }

// Is selects one operation on one kind of object.
func Is(kind Kind, op Op) Predicate {
	return Where(fmt.Sprintf("%s %s", kind, op), func(e Entry) bool { return e.Kind == kind && e.Op == op })
}

// To selects entries for exactly this prefix.
func To(prefix netip.Prefix) Predicate {
	return Where("for "+prefix.String(), func(e Entry) bool { return e.Prefix == prefix })
}

// On selects entries on a device.
func On(device string) Predicate {
	return Where("on "+device, func(e Entry) bool { return e.Dev == device })
}

// InTable selects routes and rules of a table.
func InTable(table int) Predicate {
	return Where(fmt.Sprintf("table %d", table), func(e Entry) bool { return e.Table == table })
}

// Configured selects what somebody configured: not what the kernel derives from
// it by itself (its own routes, link-local addresses, learned neighbours, the state
// of links), and not the routes of a routing daemon. A lost message counts, since
// it may have been anything.
func Configured() Predicate {
	return Where("configured", func(e Entry) bool {
		switch e.Kind {
		case Link:
			return false
		case Addr:
			return !(e.Prefix.Addr().Is6() && e.Prefix.Addr().IsLinkLocalUnicast())
		case Neigh:
			return e.Permanent
		case Route:
			return e.Proto != unix.RTPROT_KERNEL && e.Proto != unix.RTPROT_RA &&
				e.Proto != unix.RTPROT_ZEBRA && e.Proto != unix.RTPROT_BGP
		}
		return true
	})
}

// And selects what both select.
func (p Predicate) And(q Predicate) Predicate {
	return Where(p.name+" "+q.name, func(e Entry) bool { return p.match(e) && q.match(e) })
}

// Not selects what p does not.
func Not(p Predicate) Predicate {
	return Where("not "+p.name, func(e Entry) bool { return !p.match(e) })
}

// String is what the predicate selects, in words.
func (p Predicate) String() string { return p.name }

// First is the oldest entry after the mark that p selects.
func (j *Journal) First(since Mark, p Predicate) (Entry, bool) {
	for _, e := range j.Since(since) {
		if p.match(e) {
			return e, true
		}
	}
	return Entry{}, false
}

// Last is the newest entry after the mark that p selects.
func (j *Journal) Last(since Mark, p Predicate) (last Entry, found bool) {
	for _, e := range j.Since(since) {
		if p.match(e) {
			last, found = e, true
		}
	}
	return last, found
}

// Writes are the entries after the mark that p selects, oldest first.
func (j *Journal) Writes(since Mark, p Predicate) []Entry {
	var writes []Entry
	for _, e := range j.Since(since) {
		if p.match(e) {
			writes = append(writes, e)
		}
	}
	return writes
}

// Order is nil when the first entry after the mark that each predicate selects
// comes after that of the predicate before it. An overflow among the entries that
// were looked at is an error, since it may hide an earlier one.
func (j *Journal) Order(since Mark, predicates ...Predicate) error {
	entries := j.Since(since)
	last := -1
	for i, p := range predicates {
		at := firstIndex(entries, p)
		switch {
		case at < 0:
			return fmt.Errorf("no entry is %q; the journal:\n%s", p, render(entries))
		case at <= last:
			return fmt.Errorf("%q comes before %q; the journal:\n%s", p, predicates[i-1], render(entries))
		}
		last = at
	}
	if at := firstIndex(entries[:last+1], overflow()); at >= 0 {
		return fmt.Errorf("the order is unknown, since entries are missing; the journal:\n%s", render(entries))
	}
	return nil
}

func overflow() Predicate {
	return Where("overflow", func(e Entry) bool { return e.Kind == Overflow })
}

func firstIndex(entries []Entry, p Predicate) int {
	for i, e := range entries {
		if p.match(e) {
			return i
		}
	}
	return -1
}

// String is the whole journal, one entry a line, with times relative to the first.
func (j *Journal) String() string { return render(j.Since(Mark{})) }

func render(entries []Entry) string {
	if len(entries) == 0 {
		return "(no entries)\n"
	}
	var out strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&out, "%+.6fs %s\n", e.Time.Sub(entries[0].Time).Seconds(), e)
	}
	return out.String()
}
