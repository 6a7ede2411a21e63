package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Server is a running OVSDB server with one database, and the _Server database
// beside it. Its methods may be called from several goroutines.
type Server interface {
	// Endpoint is where clients connect, as OVS programs and libovsdb name it:
	// "unix:/path" or "tcp:127.0.0.1:port". It is the same after a Restart.
	Endpoint() string
	// Kind is "memory" or "real".
	Kind() string
	// Schema is the schema of the database.
	Schema() Schema
	// Transact runs one transaction (RFC 7047 section 4.1.3). An operation
	// that the database refuses, or a commit that it refuses, is an error that
	// names it; the results are returned too. When it returns, the updates are
	// on their way to every client of a memory server.
	Transact(ctx context.Context, ops ...ovsdb.Operation) ([]ovsdb.OperationResult, error)
	// Restart ends the server as if its process had died and starts it again:
	// clients are disconnected, rows stay, ephemeral columns are reset, the
	// history that monitor_cond_since replays is gone. whileDown, if not nil,
	// runs while nothing listens.
	Restart(ctx context.Context, whileDown func()) error
	// Stop ends the server. Further calls fail.
	Stop() error
}

// encodeOperations writes operations as a server wants them. libovsdb's own
// encoding leaves out an empty "where", "row" or "rows", which are required.
func encodeOperations(ops []ovsdb.Operation) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(ops))
	for i, op := range ops {
		text, err := json.Marshal(op)
		if err != nil {
			return nil, fmt.Errorf("encode operation %d: %w", i+1, err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, fmt.Errorf("encode operation %d: %w", i+1, err)
		}
		for name, empty := range requiredMembers[op.Op] {
			if members[name] == nil {
				members[name] = json.RawMessage(empty)
			}
		}
		if out[i], err = json.Marshal(members); err != nil {
			return nil, fmt.Errorf("encode operation %d: %w", i+1, err)
		}
	}
	return out, nil
}

var requiredMembers = map[string]map[string]string{
	ovsdb.OperationInsert: {"row": "{}"},
	ovsdb.OperationSelect: {"where": "[]"},
	ovsdb.OperationUpdate: {"where": "[]", "row": "{}"},
	ovsdb.OperationMutate: {"where": "[]", "mutations": "[]"},
	ovsdb.OperationDelete: {"where": "[]"},
	ovsdb.OperationWait:   {"where": "[]", "rows": "[]", "columns": "[]"},
}

// decodeResults reads the results of a transaction and turns the first error
// in them into one.
func decodeResults(raw []byte, ops []ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	var results []*ovsdb.OperationResult
	if err := json.Unmarshal(raw, &results); err != nil {
		return nil, fmt.Errorf("decode results: %w", err)
	}
	out := make([]ovsdb.OperationResult, len(results))
	var failed error
	for i, r := range results {
		if r == nil { // not executed, because an earlier one failed
			continue
		}
		out[i] = *r
		if r.Error == "" || failed != nil {
			continue
		}
		if i < len(ops) {
			failed = fmt.Errorf("%s in table %q: %s: %s", ops[i].Op, ops[i].Table, r.Error, r.Details)
		} else {
			failed = fmt.Errorf("commit: %s: %s", r.Error, r.Details)
		}
	}
	return out, failed
}
