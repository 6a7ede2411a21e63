package ovsdb

import (
	"encoding/json"
	"slices"
	"strings"
)

// transaction is a sequence of operations being run against a store (RFC 7047
// section 5.2). It sees its own changes; the store sees none until apply.
type transaction struct {
	store *store
	syms  symbols
	// holds tells whether the client owns a lock, for "assert".
	holds   func(lock string) bool
	touched map[ref]*touchedRow
	order   []ref // touched rows in the order they were touched
}

type touchedRow struct {
	table    *tableSchema
	old, new *row
}

// outcome is what running a transaction gave.
type outcome struct {
	results []any    // one JSON value per operation, an error object in place of a failed commit
	changes []change // empty unless committable
	failed  bool
	// wait is set when a "wait" does not hold yet: run again after a change.
	wait *waitOp
}

func newTransaction(st *store, holds func(string) bool) *transaction {
	return &transaction{store: st, syms: symbols{}, holds: holds, touched: map[ref]*touchedRow{}}
}

// run executes the operations. It does not change the store.
func (tx *transaction) run(ops []json.RawMessage) outcome {
	out := outcome{results: make([]any, len(ops))}
	for i, raw := range ops {
		result, wait, err := tx.execute(raw, i+1, len(ops))
		if wait != nil {
			out.wait = wait
			return out
		}
		if err != nil {
			out.results[i] = err.json()
			out.failed = true
			return out
		}
		out.results[i] = result
	}
	changes, err := tx.commit()
	if err != nil {
		out.results = append(out.results, err.json())
		out.failed = true
		return out
	}
	out.changes = changes
	return out
}

func (tx *transaction) execute(raw json.RawMessage, n, total int) (any, *waitOp, *dbError) {
	o, err := parseOperation(raw, n, total)
	if err != nil {
		return nil, nil, err
	}
	switch o.op {
	case "insert":
		return result(tx.insert(o))
	case "select":
		return result(tx.selectRows(o))
	case "update":
		return result(tx.update(o))
	case "mutate":
		return result(tx.mutate(o))
	case "delete":
		return result(tx.delete(o))
	case "wait":
		return tx.wait(o)
	case "commit":
		_, err := o.boolean("durable")
		return result(map[string]any{}, o.finish(err))
	case "abort":
		return result(nil, o.finish(newDBError("aborted", "aborted by request")))
	case "comment":
		_, err := o.text("comment")
		return result(map[string]any{}, o.finish(err))
	case "assert":
		return result(tx.assert(o))
	}
	return nil, nil, o.fail("No operation \"%s\"", o.op)
}

func result(v any, err *dbError) (any, *waitOp, *dbError) { return v, nil, err }

func (tx *transaction) assert(o *operation) (any, *dbError) {
	lock, err := o.text("lock")
	if err := o.finish(err); err != nil {
		return nil, err
	}
	if !tx.holds(lock) {
		return nil, newDBError("not owner", "Asserted lock %s not held.", lock)
	}
	return map[string]any{}, nil
}

func (tx *transaction) insert(o *operation) (any, *dbError) {
	t, err := o.table(tx.store.schema)
	values, err2 := o.member("row")
	name, hasName, err3 := o.optionalText("uuid-name")
	wanted, hasUUID, err4 := o.optionalText("uuid")
	if err := o.finish(err, err2, err3, err4); err != nil {
		return nil, err
	}
	id, err := tx.insertUUID(t, name, hasName, wanted, hasUUID)
	if err != nil {
		return nil, err
	}
	r := t.newRow(id)
	if _, err := tx.fill(t, r, values); err != nil {
		return nil, err
	}
	tx.set(t, id, r)
	return map[string]any{"uuid": atomJSON(id)}, nil
}

func (tx *transaction) insertUUID(t *tableSchema, name string, hasName bool, wanted string, hasUUID bool) (uuidAtom, *dbError) {
	id := newUUID()
	if hasUUID {
		if !uuidForm.MatchString(wanted) {
			return "", syntaxError(wanted, "bad uuid")
		}
		id = uuidAtom(strings.ToLower(wanted))
		if tx.get(ref{t.name, id}) != nil {
			return "", &dbError{tag: "duplicate uuid", details: "This UUID would duplicate a UUID already present within the table or deleted within the same transaction.", syntax: wanted}
		}
	}
	if !hasName {
		return id, nil
	}
	sym := tx.syms.get(name)
	if sym.created {
		return "", &dbError{tag: "duplicate uuid-name", details: "This \"uuid-name\" appeared on an earlier \"insert\" operation.", syntax: name}
	}
	if hasUUID {
		sym.uuid = id
	}
	sym.created = true
	return sym.uuid, nil
}

// fill parses a <row> into r and returns the columns it names.
func (tx *transaction) fill(t *tableSchema, r *row, v any) ([]string, *dbError) {
	values, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "row must be JSON object")
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c, err := t.column(name, v)
		if err != nil {
			return nil, err
		}
		d, err := c.typ.parse(values[name], tx.syms)
		if err != nil {
			return nil, err
		}
		if metaColumn(name) == nil {
			r.columns[name] = d
		}
	}
	return names, nil
}

func (tx *transaction) selectRows(o *operation) (any, *dbError) {
	t, rows, columns, err := tx.query(o)
	if err := o.finish(err); err != nil {
		return nil, err
	}
	if columns == nil {
		columns = append([]string{"_uuid", "_version"}, t.names...)
	}
	out := []any{}
	seen := map[string]bool{}
	for _, r := range rows {
		values := make(map[string]any, len(columns))
		for _, c := range columns {
			values[c] = r.get(c).json()
		}
		key := indexKey(r, columns)
		if !seen[key] { // the result is a set of rows
			seen[key] = true
			out = append(out, values)
		}
	}
	return map[string]any{"rows": out}, nil
}

func (tx *transaction) update(o *operation) (any, *dbError) {
	t, rows, _, err := tx.query(o)
	values, err2 := o.member("row")
	if err := o.finish(err, err2); err != nil {
		return nil, err
	}
	patch := &row{columns: map[string]datum{}}
	names, err := tx.fill(t, patch, values)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if metaColumn(name) != nil || !t.columns[name].mutable {
			return nil, &dbError{tag: "constraint violation", syntax: o.source,
				details: "Cannot update immutable column " + name + " in table " + t.name + "."}
		}
	}
	for _, r := range rows {
		fresh := r.clone()
		for name, d := range patch.columns {
			fresh.columns[name] = d
		}
		tx.set(t, r.uuid, fresh)
	}
	return map[string]any{"count": len(rows)}, nil
}

func (tx *transaction) mutate(o *operation) (any, *dbError) {
	t, rows, _, err := tx.query(o)
	list, err2 := o.array("mutations")
	if err := o.finish(err, err2); err != nil {
		return nil, err
	}
	mutations := make([]mutation, len(list))
	for i, v := range list {
		if mutations[i], err = t.parseMutation(v, tx.syms); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		fresh := r.clone()
		for i := range mutations {
			name := mutations[i].column.name
			if fresh.columns[name], err = mutations[i].apply(fresh.columns[name]); err != nil {
				return nil, err
			}
		}
		tx.set(t, r.uuid, fresh)
	}
	return map[string]any{"count": len(rows)}, nil
}

func (tx *transaction) delete(o *operation) (any, *dbError) {
	t, rows, _, err := tx.query(o)
	if err := o.finish(err); err != nil {
		return nil, err
	}
	for _, r := range rows {
		tx.set(t, r.uuid, nil)
	}
	return map[string]any{"count": len(rows)}, nil
}

// get is a row as the transaction sees it, nil if there is none.
func (tx *transaction) get(at ref) *row {
	if t, ok := tx.touched[at]; ok {
		return t.new
	}
	return tx.store.rows[at.table][at.uuid]
}

// set records the new version of a row; nil deletes it.
func (tx *transaction) set(t *tableSchema, id uuidAtom, r *row) {
	at := ref{t.name, id}
	entry, ok := tx.touched[at]
	if !ok {
		entry = &touchedRow{table: t, old: tx.store.rows[t.name][id]}
		tx.touched[at] = entry
		tx.order = append(tx.order, at)
	}
	entry.new = r
}

// matching are the rows for which every clause holds, in UUID order.
func (tx *transaction) matching(t *tableSchema, where []clause) []*row {
	for _, c := range where {
		if c.column == "_uuid" && c.function == "==" {
			r := tx.get(ref{t.name, c.value.keys[0].(uuidAtom)})
			if r != nil && allHold(where, r) {
				return []*row{r}
			}
			return nil
		}
	}
	if r, ok := tx.byIndex(t, where); ok {
		return r
	}
	found := map[uuidAtom]*row{}
	for id, r := range tx.store.rows[t.name] {
		if _, changed := tx.touched[ref{t.name, id}]; !changed && allHold(where, r) {
			found[id] = r
		}
	}
	for at, entry := range tx.touched {
		if at.table == t.name && entry.new != nil && allHold(where, entry.new) {
			found[at.uuid] = entry.new
		}
	}
	return sortedRows(found)
}

// byIndex answers a condition on a single-column index without a scan, as long
// as the transaction has not touched the table.
func (tx *transaction) byIndex(t *tableSchema, where []clause) ([]*row, bool) {
	for i, columns := range t.indexes {
		for _, c := range where {
			if len(columns) != 1 || c.column != columns[0] || c.function != "==" || tx.touches(t) {
				continue
			}
			id, ok := tx.store.indexes[t.name][i][valueText(c.value)+"\x00"]
			if !ok {
				return nil, true
			}
			if r := tx.store.rows[t.name][id]; allHold(where, r) {
				return []*row{r}, true
			}
			return nil, true
		}
	}
	return nil, false
}

func (tx *transaction) touches(t *tableSchema) bool {
	return slices.ContainsFunc(tx.order, func(at ref) bool { return at.table == t.name })
}
