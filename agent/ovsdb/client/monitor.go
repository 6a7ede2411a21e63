package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// Table is a table to monitor.
type Table struct {
	Name    string
	Columns []string // those that the server's schema lacks are reported as absent
	// Where selects rows that match any of the conditions; with none, all rows.
	Where    []libovsdb.Condition
	Optional bool // the server's schema may lack the table
}

// Change is what one transaction did to the monitored rows, or the outcome of a
// complete download. The receiver may keep it, and must not alter its rows.
type Change struct {
	Database string
	// Complete: Tables hold the whole content; a row that is not there is gone.
	Complete bool
	// Tables maps table → row UUID → the row with all monitored columns, or nil if
	// the row was deleted or no longer meets the table's conditions.
	Tables map[string]map[string]libovsdb.Row
	// Absent, of a complete download: table → the requested columns that the
	// server's schema lacks; no columns: it lacks the whole table.
	Absent map[string][]string
}

// monitor is the replica of one connection: what was asked for, and the rows as
// the server has them.
type monitor struct {
	database string
	tables   map[string]*monitored
	absent   map[string][]string
	filter   bool // conditions are evaluated here, not by the server
	changed  func(Change) error

	ready bool
	early []json.RawMessage // updates that came before the initial rows
}

type monitored struct {
	columns map[string]column // delivered ones
	asked   map[string]column // those and, with filter, the ones of conditions
	where   []libovsdb.Condition
	clauses []clause
	rows    map[string]libovsdb.Row
}

// newMonitor plans the monitoring of those tables and columns that the server has.
func newMonitor(database string, s schema, tables []Table, changed func(Change) error) (*monitor, error) {
	m := &monitor{database: database, tables: map[string]*monitored{}, absent: map[string][]string{}, changed: changed}
	for _, table := range tables {
		if _, ok := s[table.Name]; !ok {
			if !table.Optional {
				return nil, fmt.Errorf("the server's schema of %s has no table %s", database, table.Name)
			}
			m.absent[table.Name] = nil
			continue
		}
		t := &monitored{columns: map[string]column{}, where: table.Where, rows: map[string]libovsdb.Row{}}
		for _, name := range table.Columns {
			if c, ok := s.column(table.Name, name); ok {
				t.columns[name] = c
			} else {
				m.absent[table.Name] = append(m.absent[table.Name], name)
			}
		}
		t.asked = t.columns
		for _, condition := range table.Where {
			c, ok := s.column(table.Name, condition.Column)
			if !ok {
				return nil, fmt.Errorf("the server's schema of %s has no column %s.%s, which a condition needs", database, table.Name, condition.Column)
			}
			parsed, err := newClause(condition, c)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", table.Name, err)
			}
			t.clauses = append(t.clauses, parsed)
		}
		m.tables[table.Name] = t
	}
	return m, nil
}

// filterHere makes the client evaluate the conditions, for a server that cannot.
func (m *monitor) filterHere(s schema) {
	m.filter = true
	for name, t := range m.tables {
		t.asked = maps.Clone(t.columns)
		for _, condition := range t.where {
			t.asked[condition.Column], _ = s.column(name, condition.Column)
		}
	}
}

// request is the parameters of monitor_cond or, when filtering here, of monitor.
func (m *monitor) request() []any {
	type request struct {
		Columns []string             `json:"columns"`
		Where   []libovsdb.Condition `json:"where,omitempty"`
	}
	requests := map[string][]request{}
	for name, t := range m.tables {
		r := request{Columns: slices.Sorted(maps.Keys(t.asked))}
		if r.Columns == nil {
			r.Columns = []string{}
		}
		if !m.filter {
			r.Where = t.where
		}
		requests[name] = []request{r}
	}
	return []any{m.database, m.database, requests}
}

// start takes the reply to the request as the complete content, then what came
// before it.
func (m *monitor) start(result json.RawMessage) error {
	change, err := m.apply(result)
	if err != nil {
		return err
	}
	change.Complete, change.Absent = true, m.absent
	for name := range m.tables {
		if change.Tables[name] == nil {
			change.Tables[name] = map[string]libovsdb.Row{}
		}
	}
	m.ready = true
	if err := m.changed(change); err != nil {
		return err
	}
	early := m.early
	m.early = nil
	for _, updates := range early {
		if err := m.notify(updates); err != nil {
			return err
		}
	}
	return nil
}

// notify takes the updates of one notification.
func (m *monitor) notify(updates json.RawMessage) error {
	if !m.ready {
		m.early = append(m.early, updates)
		return nil
	}
	change, err := m.apply(updates)
	if err != nil {
		return fmt.Errorf("malformed message: %w", err)
	}
	if len(change.Tables) == 0 {
		return nil
	}
	return m.changed(change)
}

// apply takes <table-updates> or <table-updates2>; the members of a row's update
// tell which. What it names that was not asked for is passed over.
func (m *monitor) apply(updates json.RawMessage) (Change, error) {
	change := Change{Database: m.database, Tables: map[string]map[string]libovsdb.Row{}}
	decoded, err := decodeAny(updates)
	if err != nil {
		return change, fmt.Errorf("table updates: %w", err)
	}
	tables, ok := decoded.(map[string]any)
	if !ok {
		return change, fmt.Errorf("table updates are no object")
	}
	for name, v := range tables {
		t, known := m.tables[name]
		if !known {
			continue
		}
		rows, ok := v.(map[string]any)
		if !ok {
			return change, fmt.Errorf("table %s: the update is no object", name)
		}
		for uuid, v := range rows {
			update, ok := v.(map[string]any)
			if !ok {
				return change, fmt.Errorf("table %s, row %s: the update is no object", name, uuid)
			}
			row, err := t.next(uuid, update)
			if err != nil {
				return change, fmt.Errorf("table %s, row %s: %w", name, uuid, err)
			}
			m.put(change, name, uuid, row)
		}
	}
	return change, nil
}

// put stores a row, nil to remove it, and notes in the change what of this is to
// be seen from outside.
func (m *monitor) put(change Change, name, uuid string, row libovsdb.Row) {
	t := m.tables[name]
	seen, was := m.visible(t, row), m.visible(t, t.rows[uuid])
	t.store(uuid, row)
	if !seen && !was {
		return
	}
	if change.Tables[name] == nil {
		change.Tables[name] = map[string]libovsdb.Row{}
	}
	change.Tables[name][uuid] = nil
	if seen {
		change.Tables[name][uuid] = t.project(row)
	}
}

// visible tells whether a row exists and meets the table's conditions, which the
// server has seen to unless filtering is done here.
func (m *monitor) visible(t *monitored, row libovsdb.Row) bool {
	if row == nil {
		return false
	}
	return !m.filter || len(t.clauses) == 0 ||
		slices.ContainsFunc(t.clauses, func(c clause) bool { return c.matches(row) })
}

func (t *monitored) store(uuid string, row libovsdb.Row) {
	if row == nil {
		delete(t.rows, uuid)
	} else {
		t.rows[uuid] = row
	}
}

// project leaves out columns that were asked for conditions only.
func (t *monitored) project(row libovsdb.Row) libovsdb.Row {
	if len(t.asked) == len(t.columns) {
		return row
	}
	projected := make(libovsdb.Row, len(t.columns))
	for name := range t.columns {
		projected[name] = row[name]
	}
	return projected
}

// next is what a row becomes by a <row-update2> (ovsdb-server(7), 4.1.14) or a
// <row-update> (RFC 7047, section 4.1.6); nil if it goes.
func (t *monitored) next(uuid string, update map[string]any) (libovsdb.Row, error) {
	for _, member := range []string{"initial", "insert", "new"} {
		if v, ok := update[member]; ok {
			return t.whole(v)
		}
	}
	if v, ok := update["modify"]; ok {
		return t.modified(uuid, v)
	}
	_, deleted := update["delete"]
	_, old := update["old"]
	if deleted || old {
		return nil, nil
	}
	return nil, fmt.Errorf("the update says nothing")
}

// whole decodes a row; columns left out have their default value.
func (t *monitored) whole(v any) (libovsdb.Row, error) {
	row, err := t.decode(v)
	if err != nil {
		return nil, err
	}
	for name, c := range t.asked {
		if _, ok := row[name]; !ok {
			row[name] = c.empty()
		}
	}
	return row, nil
}

func (t *monitored) modified(uuid string, v any) (libovsdb.Row, error) {
	old, ok := t.rows[uuid]
	if !ok {
		return nil, fmt.Errorf("modifies a row that the server has not sent")
	}
	differences, err := t.decode(v)
	if err != nil {
		return nil, err
	}
	row := maps.Clone(old)
	for name, difference := range differences {
		row[name] = t.asked[name].change(old[name], difference)
	}
	return row, nil
}

func (t *monitored) decode(v any) (libovsdb.Row, error) {
	wire, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a row is no object")
	}
	row := make(libovsdb.Row, len(t.asked))
	for name, v := range wire {
		c, asked := t.asked[name]
		if !asked {
			continue
		}
		value, err := c.decode(v)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		row[name] = value
	}
	return row, nil
}
