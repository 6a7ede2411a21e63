package ovsdb

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// row is one version of a row. It is never changed once committed.
type row struct {
	uuid    uuidAtom
	version uuidAtom
	columns map[string]datum
}

func newUUID() uuidAtom { return uuidAtom(uuid.NewString()) }

func (t *tableSchema) newRow(id uuidAtom) *row {
	r := &row{uuid: id, version: newUUID(), columns: make(map[string]datum, len(t.columns))}
	for name, c := range t.columns {
		r.columns[name] = c.typ.zero()
	}
	return r
}

// get reads a column, _uuid and _version included.
func (r *row) get(column string) datum {
	switch column {
	case "_uuid":
		return datum{keys: []atom{r.uuid}}
	case "_version":
		return datum{keys: []atom{r.version}}
	}
	return r.columns[column]
}

func (r *row) clone() *row {
	c := &row{uuid: r.uuid, version: r.version, columns: make(map[string]datum, len(r.columns))}
	for name, d := range r.columns {
		c.columns[name] = d
	}
	return c
}

func (r *row) equal(o *row) bool {
	for name, d := range r.columns {
		if !d.equal(o.columns[name]) {
			return false
		}
	}
	return true
}

// ref names a row.
type ref struct {
	table string
	uuid  uuidAtom
}

// change is what a transaction did to a row: old is nil for an insertion, new
// for a deletion.
type change struct {
	table    *tableSchema
	old, new *row
}

func (c change) uuid() uuidAtom {
	if c.new != nil {
		return c.new.uuid
	}
	return c.old.uuid
}

// store holds the committed rows of a database and what is derived from them.
type store struct {
	schema Schema
	rows   map[string]map[uuidAtom]*row
	// strong counts the strong references to each row.
	strong map[ref]int
	// weak is, for each row, who refers to it weakly and how often.
	weak map[ref]map[ref]int
	// indexes is, per table and index, the row that holds each value.
	indexes map[string][]map[string]uuidAtom
}

func newStore(s Schema) *store {
	st := &store{schema: s, rows: map[string]map[uuidAtom]*row{}, strong: map[ref]int{}, weak: map[ref]map[ref]int{}, indexes: map[string][]map[string]uuidAtom{}}
	for name, t := range s.tables {
		st.rows[name] = map[uuidAtom]*row{}
		for range t.indexes {
			st.indexes[name] = append(st.indexes[name], map[string]uuidAtom{})
		}
	}
	return st
}

// references calls visit for each reference that r makes.
func (t *tableSchema) references(r *row, visit func(column *columnSchema, to ref, weak bool)) {
	for name, c := range t.columns {
		if c.typ.key.refTable != "" {
			for _, k := range r.columns[name].keys {
				visit(c, ref{c.typ.key.refTable, k.(uuidAtom)}, c.typ.key.weak)
			}
		}
		if c.typ.value != nil && c.typ.value.refTable != "" {
			for _, v := range r.columns[name].values {
				visit(c, ref{c.typ.value.refTable, v.(uuidAtom)}, c.typ.value.weak)
			}
		}
	}
}

// indexKey is the value of an index for r, as text.
func indexKey(r *row, columns []string) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(valueText(r.get(c)))
		b.WriteByte(0)
	}
	return b.String()
}

// apply makes changes part of the committed state.
func (st *store) apply(changes []change) {
	for _, c := range changes {
		if c.old != nil {
			st.account(c.table, c.old, -1)
			st.unindex(c.table, c.old)
			delete(st.rows[c.table.name], c.old.uuid)
		}
	}
	for _, c := range changes {
		if c.new != nil {
			st.rows[c.table.name][c.new.uuid] = c.new
			st.account(c.table, c.new, +1)
			for i, columns := range c.table.indexes {
				st.indexes[c.table.name][i][indexKey(c.new, columns)] = c.new.uuid
			}
		}
	}
}

func (st *store) unindex(t *tableSchema, r *row) {
	for i, columns := range t.indexes {
		delete(st.indexes[t.name][i], indexKey(r, columns))
	}
}

// account adds (+1) or removes (-1) the references that r makes.
func (st *store) account(t *tableSchema, r *row, sign int) {
	from := ref{t.name, r.uuid}
	t.references(r, func(_ *columnSchema, to ref, weak bool) {
		if !weak {
			if st.strong[to] += sign; st.strong[to] == 0 {
				delete(st.strong, to)
			}
			return
		}
		if st.weak[to] == nil {
			st.weak[to] = map[ref]int{}
		}
		if st.weak[to][from] += sign; st.weak[to][from] == 0 {
			delete(st.weak[to], from)
		}
		if len(st.weak[to]) == 0 {
			delete(st.weak, to)
		}
	})
}

// clearEphemeral resets the columns that do not outlive the server.
func (st *store) clearEphemeral() {
	var changes []change
	for name, rows := range st.rows {
		t := st.schema.tables[name]
		for _, r := range rows {
			fresh := r.clone()
			for column, c := range t.columns {
				if c.ephemeral {
					fresh.columns[column] = c.typ.zero()
				}
			}
			if !fresh.equal(r) {
				changes = append(changes, change{t, r, fresh})
			}
		}
	}
	st.apply(changes)
}

// sortedRows are the rows of a table in UUID order.
func sortedRows(rows map[uuidAtom]*row) []*row {
	out := make([]*row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *row) int { return strings.Compare(string(a.uuid), string(b.uuid)) })
	return out
}
