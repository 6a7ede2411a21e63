package ovsdb

import (
	"strconv"
	"strings"
)

// commit checks the integrity of what the operations did and returns the
// changes, with those that follow from it: rows of non-root tables that nobody
// refers to strongly any more are deleted, weak references to deleted rows are
// removed (RFC 7047 section 3.2). The order of the checks is ovsdb-server's.
func (tx *transaction) commit() ([]change, *dbError) {
	deltas := map[ref]int{}
	for _, at := range tx.order {
		if err := tx.countStrong(at, deltas); err != nil {
			return nil, err
		}
	}
	if err := tx.refuseReferencedDeletes(deltas); err != nil {
		return nil, err
	}
	tx.collectGarbage(deltas)
	if err := tx.dropWeak(); err != nil {
		return nil, err
	}
	if err := tx.checkIndexes(); err != nil {
		return nil, err
	}
	if err := tx.checkRowCounts(); err != nil {
		return nil, err
	}
	return tx.changes(), nil
}

// countStrong adds to deltas how a touched row changes the number of strong
// references to others.
func (tx *transaction) countStrong(at ref, deltas map[ref]int) *dbError {
	entry := tx.touched[at]
	if entry.old != nil {
		entry.table.references(entry.old, func(_ *columnSchema, to ref, weak bool) {
			if !weak {
				deltas[to]--
			}
		})
	}
	if entry.new == nil {
		return nil
	}
	var err *dbError
	entry.table.references(entry.new, func(c *columnSchema, to ref, weak bool) {
		if weak {
			return
		}
		deltas[to]++
		if err == nil && tx.store.rows[to.table][to.uuid] == nil && tx.get(to) == nil {
			err = newDBError("referential integrity violation",
				"Table %s column %s row %s references nonexistent row %s in table %s.",
				at.table, c.name, at.uuid, to.uuid, to.table)
		}
	})
	return err
}

func (tx *transaction) refuseReferencedDeletes(deltas map[ref]int) *dbError {
	for _, at := range tx.order {
		n := tx.store.strong[at] + deltas[at]
		if tx.touched[at].new == nil && n > 0 {
			return newDBError("referential integrity violation",
				"cannot delete %s row %s because of %d remaining reference(s)", at.table, at.uuid, n)
		}
	}
	return nil
}

func (tx *transaction) collectGarbage(deltas map[ref]int) {
	var queue []ref
	queue = append(queue, tx.order...)
	for at := range deltas {
		queue = append(queue, at)
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		t := tx.store.schema.tables[at.table]
		r := tx.get(at)
		if t.root || r == nil || tx.store.strong[at]+deltas[at] > 0 {
			continue
		}
		tx.set(t, at.uuid, nil)
		t.references(r, func(_ *columnSchema, to ref, weak bool) {
			if !weak {
				deltas[to]--
				queue = append(queue, to)
			}
		})
	}
}

// dropWeak removes weak references to rows that do not exist after the
// transaction, from rows it touched and from those it did not.
func (tx *transaction) dropWeak() *dbError {
	referrers := append([]ref(nil), tx.order...)
	for _, at := range tx.order {
		if tx.touched[at].new != nil {
			continue
		}
		for from := range tx.store.weak[at] {
			referrers = append(referrers, from)
		}
	}
	for _, from := range referrers {
		if r := tx.get(from); r != nil {
			if err := tx.dropWeakFrom(tx.store.schema.tables[from.table], r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *transaction) dropWeakFrom(t *tableSchema, r *row) *dbError {
	fresh := r
	for name, c := range t.columns {
		if !c.typ.key.weak && (c.typ.value == nil || !c.typ.value.weak) {
			continue
		}
		d := r.columns[name]
		kept := d.without(func(i int) bool {
			return tx.dangling(c.typ.key, d.keys[i]) || (d.values != nil && tx.dangling(c.typ.value, d.values[i]))
		})
		if len(kept.keys) == len(d.keys) {
			continue
		}
		if len(kept.keys) < c.typ.min {
			return constraint("Weak reference column \"%s\" in \"%s\" row %s (inserted within this transaction) would become empty with %d values, fewer than the minimum of %d.",
				name, t.name, r.uuid, len(kept.keys), c.typ.min)
		}
		if fresh == r {
			fresh = r.clone()
		}
		fresh.columns[name] = kept
	}
	if fresh != r {
		tx.set(t, r.uuid, fresh)
	}
	return nil
}

func (tx *transaction) dangling(b *baseType, a atom) bool {
	return b.weak && tx.get(ref{b.refTable, a.(uuidAtom)}) == nil
}

// checkIndexes compares every touched row with the other touched ones and with
// the committed ones that stay.
func (tx *transaction) checkIndexes() *dbError {
	type position struct {
		table string
		index int
		key   string
	}
	seen := map[position]uuidAtom{}
	for _, at := range tx.order {
		entry := tx.touched[at]
		if entry.new == nil {
			continue
		}
		for i, columns := range entry.table.indexes {
			p := position{at.table, i, indexKey(entry.new, columns)}
			if first, dup := seen[p]; dup {
				return tx.duplicate(entry, columns, first)
			}
			seen[p] = at.uuid
			other, dup := tx.store.indexes[at.table][i][p.key]
			if dup && other != at.uuid && tx.touched[ref{at.table, other}] == nil {
				return tx.duplicate(entry, columns, other)
			}
		}
	}
	return nil
}

func (tx *transaction) duplicate(entry *touchedRow, columns []string, other uuidAtom) *dbError {
	values, names := valueTexts(entry.new, columns), inEnglish(quoted(columns))
	plural := ""
	if len(columns) > 1 {
		plural = "s"
	}
	return constraint("Transaction causes multiple rows in \"%s\" table to have identical values (%s) for index on column%s %s.  First row, with UUID %s, %s.  Second row, with UUID %s, %s.",
		entry.table.name, values, plural, names, entry.new.uuid, tx.history(entry.table, columns, entry.new.uuid), other, tx.history(entry.table, columns, other))
}

// history says what the transaction did to a row, for the error message.
func (tx *transaction) history(t *tableSchema, columns []string, id uuidAtom) string {
	switch entry := tx.touched[ref{t.name, id}]; {
	case entry == nil || (entry.old != nil && indexKey(entry.old, columns) == indexKey(entry.new, columns)):
		return "existed in the database before this transaction and was not modified by the transaction"
	case entry.old == nil:
		return "was inserted by this transaction"
	default:
		return "had the following index values before the transaction: " + valueTexts(entry.old, columns)
	}
}

func valueTexts(r *row, columns []string) string {
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = valueText(r.get(c))
	}
	return inEnglish(values)
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return out
}

// inEnglish joins words as in "a, b, and c".
func inEnglish(words []string) string {
	switch n := len(words); n {
	case 0, 1:
		return strings.Join(words, "")
	case 2:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:n-1], ", ") + ", and " + words[n-1]
	}
}

func (tx *transaction) checkRowCounts() *dbError {
	grown := map[*tableSchema]int{}
	for _, at := range tx.order {
		entry := tx.touched[at]
		if entry.old == nil && entry.new != nil {
			grown[entry.table]++
		}
		if entry.old != nil && entry.new == nil {
			grown[entry.table]--
		}
	}
	for t, by := range grown {
		if n := len(tx.store.rows[t.name]) + by; by > 0 && n > t.maxRows {
			return constraint("transaction causes \"%s\" table to contain %d rows, greater than the schema-defined limit of %d row(s)", t.name, n, t.maxRows)
		}
	}
	return nil
}

// changes are the rows that differ from the committed ones, with new versions.
func (tx *transaction) changes() []change {
	var out []change
	for _, at := range tx.order {
		entry := tx.touched[at]
		switch {
		case entry.old == nil && entry.new == nil:
			continue
		case entry.old != nil && entry.new != nil:
			if entry.old.equal(entry.new) {
				continue
			}
			entry.new.version = newUUID()
		}
		out = append(out, change{entry.table, entry.old, entry.new})
	}
	return out
}
