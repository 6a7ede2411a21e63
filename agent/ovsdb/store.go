package ovsdb

import (
	"slices"

	"ovn-bgp-agent/agent/ovsdb/client"
)

// Store is the last applied state of the databases. It is not safe for
// concurrent use: one goroutine owns it.
type Store struct {
	tables   map[string]*tableData
	complete map[string]bool
}

type tableData struct {
	table
	rows    map[string]any              // UUID → *T
	entries map[Dep]map[string]struct{} // index entry → UUIDs
}

// NewStore returns an empty store of all tables of the package.
func NewStore() *Store {
	s := &Store{tables: map[string]*tableData{}, complete: map[string]bool{}}
	for _, t := range allTables {
		s.tables[t.tableName()] = &tableData{t, map[string]any{}, map[Dep]map[string]struct{}{}}
	}
	return s
}

// Complete tells whether a complete download of the database has been applied.
func (s *Store) Complete(database string) bool { return s.complete[database] }

// Apply takes a change in full and returns everything that reads differently
// now: changed rows and the index entries they are and were under. Rows that a
// complete download repeats unchanged are not among them.
func (s *Store) Apply(c client.Change) []Dep {
	touched := map[Dep]struct{}{}
	if c.Complete {
		s.complete[c.Database] = true
		s.removeMissing(c, touched)
	}
	for name, rows := range c.Tables {
		t, ok := s.tables[name]
		if !ok || t.databaseName() != c.Database {
			continue
		}
		for uuid, row := range rows {
			if row == nil {
				t.remove(uuid, touched)
			} else {
				t.put(uuid, t.typed(uuid, row), touched)
			}
		}
	}
	deps := make([]Dep, 0, len(touched))
	for d := range touched {
		deps = append(deps, d)
	}
	return deps
}

// removeMissing removes the rows that a complete download does not have.
func (s *Store) removeMissing(c client.Change, touched map[Dep]struct{}) {
	for name, t := range s.tables {
		if t.databaseName() != c.Database {
			continue
		}
		for uuid := range t.rows {
			if c.Tables[name][uuid] == nil {
				t.remove(uuid, touched)
			}
		}
	}
}

func (t *tableData) put(uuid string, row any, touched map[Dep]struct{}) {
	if old, ok := t.rows[uuid]; ok {
		if equal(old, row) {
			return
		}
		t.remove(uuid, touched)
	}
	t.rows[uuid] = row
	touched[Dep{Table: t.tableName(), Value: uuid}] = struct{}{}
	for _, entry := range t.table.entries(row) {
		touched[entry] = struct{}{}
		if t.entries[entry] == nil {
			t.entries[entry] = map[string]struct{}{}
		}
		t.entries[entry][uuid] = struct{}{}
	}
}

func (t *tableData) remove(uuid string, touched map[Dep]struct{}) {
	row, ok := t.rows[uuid]
	if !ok {
		return
	}
	delete(t.rows, uuid)
	touched[Dep{Table: t.tableName(), Value: uuid}] = struct{}{}
	for _, entry := range t.table.entries(row) {
		touched[entry] = struct{}{}
		delete(t.entries[entry], uuid)
		if len(t.entries[entry]) == 0 {
			delete(t.entries, entry)
		}
	}
}

// View reads a store and notes what it read.
type View struct {
	store *Store
	reads map[Dep]struct{}
}

// View returns a view with no notes yet.
func (s *Store) View() *View { return &View{s, map[Dep]struct{}{}} }

// Reads are the notes: everything that was looked up, whether found or not.
func (v *View) Reads() map[Dep]struct{} { return v.reads }

// Note adds to the notes what the reader learned elsewhere.
func (v *View) Note(d Dep) { v.reads[d] = struct{}{} }

// Get returns the row of a table with that UUID.
func Get[T any](v *View, t *Table[T], uuid string) (*T, bool) {
	v.Note(Dep{Table: t.name, Value: uuid})
	row, ok := v.store.tables[t.name].rows[uuid]
	if !ok {
		return nil, false
	}
	return row.(*T), true
}

// Find returns the rows that an index has under a value, in order of UUID.
func Find[T any](v *View, t *Table[T], index Index[T], value string) []*T {
	dep := Dep{t.name, index.name, value}
	v.Note(dep)
	data := v.store.tables[t.name]
	uuids := make([]string, 0, len(data.entries[dep]))
	for uuid := range data.entries[dep] {
		uuids = append(uuids, uuid)
	}
	slices.Sort(uuids)
	rows := make([]*T, len(uuids))
	for i, uuid := range uuids {
		rows[i] = data.rows[uuid].(*T)
	}
	return rows
}

// First returns the row with the lowest UUID that an index has under a value.
func First[T any](v *View, t *Table[T], index Index[T], value string) (*T, bool) {
	rows := Find(v, t, index, value)
	if len(rows) == 0 {
		return nil, false
	}
	return rows[0], true
}

// Has tells whether a table has a row with that UUID.
func (s *Store) Has(table, uuid string) bool {
	_, ok := s.tables[table].rows[uuid]
	return ok
}

// Rows names every row of a table.
func (s *Store) Rows(table string) []Dep {
	var deps []Dep
	for uuid := range s.tables[table].rows {
		deps = append(deps, Dep{Table: table, Value: uuid})
	}
	return deps
}

// Forget drops the notes about a table.
func (v *View) Forget(table string) {
	for d := range v.reads {
		if d.Table == table {
			delete(v.reads, d)
		}
	}
}
