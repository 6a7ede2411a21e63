package status

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// printer prints aligned rows of text.
type printer struct{ table *tabwriter.Writer }

// row prints a row of tab-separated cells; tabs and line ends inside an argument
// become blanks.
func (p printer) row(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = strings.Join(strings.Fields(s), " ")
		}
	}
	// The table keeps what it is given in memory; Flush reports the error of writing it.
	_, _ = fmt.Fprintf(p.table, format+"\n", args...)
}

// WriteText prints a report for people: problems first.
func (r Report) WriteText(w io.Writer) error {
	p := printer{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	for _, problem := range r.Problems {
		p.row("PROBLEM\t%s\tsince %s", problem.Text, moment(problem.Since))
	}
	for _, prefix := range r.Guard.Withdrawals {
		p.row("HELD\twithdrawal of %s", prefix)
	}
	r.writeAgent(p)
	r.writePlan(p)
	r.writeExposures(p)
	if err := p.table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}

func (r Report) writeAgent(p printer) {
	p.row("agent\t%s, driver %s, method %s, started %s", r.Version, r.Driver, r.Method, moment(r.Started))
	p.row("node\thostname %q, system-id %q", r.Node.Hostname, r.Node.SystemID)
	for _, c := range r.Connections {
		p.row("database\t%s", join(" ", c.Database, c.Endpoint, c.State, since(c.Since), reconnects(c.Reconnects), detail(c.LastError)))
	}
	p.row("FRR\t%s", join(" ", r.FRR.State, fmt.Sprintf("AS %d", r.FRR.AS), labelled("router-id ", r.FRR.RouterID), detail(r.FRR.Reason)))
	if r.Sync.Count == 0 {
		p.row("sync\tnot yet")
		return
	}
	p.row("sync\t%d so far, last at %s (%s) in %s: %s", r.Sync.Count, moment(r.Sync.Last), r.Sync.Cause, r.Sync.Duration, steps(r.Sync.Steps))
}

func (r Report) writePlan(p printer) {
	if !r.DryRun {
		return
	}
	p.row("dry run\t%d changes would be made", len(r.Plan))
	for _, step := range r.Plan {
		p.row("plan\t%s", step)
	}
}

func (r Report) writeExposures(p printer) {
	p.row("")
	p.row("PREFIX\tSTATE\tKIND\tPORT\tNETWORK\tREASON")
	for _, e := range r.Exposures {
		p.row("%s\t%s\t%s\t%s\t%s\t%s", orDash(e.Prefix), e.State, e.Kind, e.Port, orDash(e.Network), e.Reason)
	}
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format(time.RFC3339)
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "since " + moment(t)
}

func reconnects(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("after %d reconnects", n)
}

func detail(text string) string { return labelled("- ", text) }

// labelled is text after its label, or nothing.
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// join joins what is not empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// steps lists how many changes of each kind were made.
func steps(counts map[string]int) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	if len(list) == 0 {
		return "nothing differed"
	}
	return strings.Join(list, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
