// Package status is how operators ask a running agent how it is: HTTP on a unix
// socket, the values that go over it, and the client.
package status

import (
	"context"
	"time"
)

// Report is everything that the agent says of itself.
type Report struct {
	Version     string       `json:"version"`
	Driver      string       `json:"driver"`
	Method      string       `json:"exposing_method"`
	Started     time.Time    `json:"started"`
	Node        Node         `json:"node"`
	Connections []Connection `json:"connections"`
	FRR         FRR          `json:"frr"`
	Sync        Sync         `json:"sync"`
	Exposures   []Exposure   `json:"exposures"`
	Problems    []Problem    `json:"problems"`
	Guard       Guard        `json:"guard"`
	DryRun      bool         `json:"dry_run"`
	Plan        []string     `json:"plan,omitempty"` // dry run: what would be changed
}

// complete has lists that are empty, rather than null, in JSON.
func (r Report) complete() Report {
	r.Connections = append([]Connection{}, r.Connections...)
	r.Exposures = append([]Exposure{}, r.Exposures...)
	r.Problems = append([]Problem{}, r.Problems...)
	return r
}

// Node is who this node is (external_ids of Open_vSwitch).
type Node struct {
	Hostname string `json:"hostname"`
	SystemID string `json:"system_id"`
}

// Connection is a connection to a database.
type Connection struct {
	Name       string    `json:"name"`
	Database   string    `json:"database"`
	Endpoint   string    `json:"endpoint"`
	State      string    `json:"state"` // "connected", "disconnected" or "not configured"
	Since      time.Time `json:"since"`
	Reconnects int       `json:"reconnects"`
	LastError  string    `json:"last_error,omitempty"`
}

// FRR is the condition of FRR's leak of the announcing VRF.
type FRR struct {
	State    string `json:"state"` // "configured", "not configured" or "unreachable"
	Reason   string `json:"reason,omitempty"`
	RouterID string `json:"router_id,omitempty"`
	AS       uint32 `json:"as"`
}

// Sync is the last full sync.
type Sync struct {
	Count    int            `json:"count"` // since the agent started
	Cause    string         `json:"cause"`
	Last     time.Time      `json:"last"`
	Duration time.Duration  `json:"duration_ns"`
	Steps    map[string]int `json:"steps"` // changes by kind of object
}

// Exposure is one decision: an address, or a port that has none.
type Exposure struct {
	Kind    string    `json:"kind"`
	Prefix  string    `json:"prefix,omitempty"`
	Port    string    `json:"port"`
	Network string    `json:"network"`
	State   string    `json:"state"` // "applied", "pending", "refused", "failed", "repairing" or, in a dry run, "planned"
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since"`
}

// Problem is something that is wrong at present.
type Problem struct {
	Name  string    `json:"name"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
}

// Guard is the mass-withdrawal guard.
type Guard struct {
	Held        bool     `json:"held"`
	Withdrawals []string `json:"withdrawals,omitempty"` // prefixes held back
}

// SyncResult is what a requested sync wrote, by kind; empty when nothing differed.
type SyncResult struct {
	Writes map[string]uint64 `json:"writes"`
}

// Agent answers the requests.
type Agent interface {
	Report(ctx context.Context) (Report, error)
	// Sync compares the whole node now and returns when that is done.
	Sync(ctx context.Context) (SyncResult, error)
	// Settled returns when every row committed before the call has been applied.
	Settled(ctx context.Context) error
	// Confirm lets a held mass withdrawal go.
	Confirm(ctx context.Context) error
}
