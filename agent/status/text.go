package status

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteText prints a report for people: problems first.
func (r Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { fmt.Fprintf(table, format+"\n", args...) }
	for _, p := range r.Problems {
		row("PROBLEM\t%s\tsince %s", p.Text, p.Since.Format(time.RFC3339))
	}
	row("agent\t%s, driver %s, method %s, started %s", r.Version, r.Driver, r.Method, r.Started.Format(time.RFC3339))
	row("node\thostname %q, system-id %q", r.Node.Hostname, r.Node.SystemID)
	for _, c := range r.Connections {
		row("database\t%s: %s %s since %s, %d reconnects %s", c.Database, c.Endpoint, c.State, c.Since.Format(time.RFC3339), c.Reconnects, c.LastError)
	}
	row("FRR\t%s, AS %d, router-id %s %s", r.FRR.State, r.FRR.AS, r.FRR.RouterID, r.FRR.Reason)
	row("sync\t%d so far, last at %s (%s) in %s, steps %v", r.Sync.Count, r.Sync.Last.Format(time.RFC3339), r.Sync.Cause, r.Sync.Duration, r.Sync.Steps)
	for _, prefix := range r.Guard.Withdrawals {
		row("held\t%s", prefix)
	}
	for _, step := range r.Plan {
		row("plan\t%s", step)
	}
	row("")
	row("PREFIX\tSTATE\tKIND\tPORT\tNETWORK\tREASON")
	for _, e := range r.Exposures {
		row("%s\t%s\t%s\t%s\t%s\t%s", e.Prefix, e.State, e.Kind, e.Port, e.Network, e.Reason)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}
