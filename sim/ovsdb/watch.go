package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// RowChange is how a row changed in one transaction, as the "monitor" method
// reports it (RFC 7047 section 4.1.6): Old holds the changed columns only and is nil for an
// insertion; New is nil for a deletion.
type RowChange struct {
	Table    string
	UUID     string
	Old, New ovsdb.Row
}

// Watcher records the changes that a client of a server sees, in their order.
type Watcher struct {
	rpc *rpcClient

	mu      sync.Mutex
	batches [][]RowChange
	err     error
}

// Watch connects to a server and monitors columns of tables; nil columns are
// all of a table. What is there already is not recorded. Close ends it.
func Watch(ctx context.Context, endpoint, database string, tables map[string][]string) (*Watcher, error) {
	w := &Watcher{}
	c, err := dialRPC(ctx, endpoint, w.record)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", database, err)
	}
	w.rpc = c
	requests := map[string]any{}
	for table, columns := range tables {
		request := map[string]any{"select": map[string]bool{"initial": false}}
		if columns != nil {
			request["columns"] = columns
		}
		requests[table] = request
	}
	if _, err := c.call(ctx, "monitor", database, "watch", requests); err != nil {
		c.close()
		return nil, fmt.Errorf("watch %s: %w", database, err)
	}
	return w, nil
}

// Close disconnects.
func (w *Watcher) Close() { w.rpc.close() }

// Updates are the transactions seen since the last call, each with its changes
// sorted by table and UUID. Those of a transaction that the server had
// finished before the call are among them.
func (w *Watcher) Updates(ctx context.Context) ([][]RowChange, error) {
	if _, err := w.rpc.call(ctx, "echo"); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	batches := w.batches
	w.batches = nil
	return batches, w.err
}

func (w *Watcher) record(method string, params json.RawMessage) {
	if method != "update" {
		return
	}
	batch, err := parseUpdate(params)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("watch: update %s: %w", params, err)
	}
	w.batches = append(w.batches, batch)
}

func parseUpdate(params json.RawMessage) ([]RowChange, error) {
	var id string
	var updates ovsdb.TableUpdates
	if err := json.Unmarshal(params, &[]any{&id, &updates}); err != nil {
		return nil, err
	}
	var batch []RowChange
	for table, rows := range updates {
		for uuid, r := range rows {
			c := RowChange{Table: table, UUID: uuid}
			if r.Old != nil {
				c.Old = *r.Old
			}
			if r.New != nil {
				c.New = *r.New
			}
			batch = append(batch, c)
		}
	}
	slices.SortFunc(batch, func(a, b RowChange) int {
		if a.Table != b.Table {
			return compareAtoms(a.Table, b.Table)
		}
		return compareAtoms(a.UUID, b.UUID)
	})
	return batch, nil
}
