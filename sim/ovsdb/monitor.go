package ovsdb

import (
	"slices"
)

// event is a kind of row change that a monitor can select, as a bit.
type event int

const (
	onInitial event = 1 << iota
	onInsert
	onModify
	onDelete
)

// The notification that a monitor gets: "update" for monitor (RFC 7047),
// "update2" for monitor_cond, "update3" for monitor_cond_since.
const (
	protocolUpdate = 1 + iota
	protocolUpdate2
	protocolUpdate3
)

// monitor is one client's subscription to tables of one database.
type monitor struct {
	id       any // as the client gave it
	protocol int
	tables   map[string]*tableMonitor
	send     func(method string, params []any)
}

// tableMonitor is what is monitored of one table.
type tableMonitor struct {
	table    *tableSchema
	selects  map[string]event // per column
	names    []string         // the monitored columns, sorted
	selected event            // of any column
	where    []clause         // any must hold; none: every row
}

func (tm *tableMonitor) matches(r *row) bool { return r != nil && anyHolds(tm.where, r) }

// tableUpdates is the <table-updates> of one notification or reply.
type tableUpdates map[string]map[string]any

func (u tableUpdates) add(table string, id uuidAtom, v any) {
	if u[table] == nil {
		u[table] = map[string]any{}
	}
	u[table][string(id)] = v
}

// initial is the content of the reply to the monitor request.
func (m *monitor) initial(st *store) tableUpdates {
	u := tableUpdates{}
	for name, tm := range m.tables {
		if tm.selected&onInitial == 0 {
			continue
		}
		for id, r := range st.rows[name] {
			if tm.matches(r) {
				u.add(name, id, m.whole(tm, onInitial, r))
			}
		}
	}
	return u
}

// notify sends the part of a transaction's changes that concerns the monitor.
func (m *monitor) notify(id uuidAtom, changes []change) {
	if u := m.updates(changes); len(u) > 0 {
		m.sendUpdates(id, u)
	}
}

func (m *monitor) sendUpdates(id uuidAtom, u tableUpdates) {
	switch m.protocol {
	case protocolUpdate:
		m.send("update", []any{m.id, u})
	case protocolUpdate2:
		m.send("update2", []any{m.id, u})
	default:
		m.send("update3", []any{m.id, string(id), u})
	}
}

func (m *monitor) updates(changes []change) tableUpdates {
	u := tableUpdates{}
	for _, c := range changes {
		tm, ok := m.tables[c.table.name]
		if !ok {
			continue
		}
		if v, ok := m.rowUpdate(tm, c.old, c.new, tm.matches(c.old), tm.matches(c.new)); ok {
			u.add(c.table.name, c.uuid(), v)
		}
	}
	return u
}

// rowUpdate is the update for a row that was and is visible, or not, through
// the condition. A row that comes into view is an insertion.
func (m *monitor) rowUpdate(tm *tableMonitor, old, new *row, was, is bool) (any, bool) {
	switch {
	case was && is:
		return m.modified(tm, old, new)
	case is && tm.selected&onInsert != 0:
		return m.whole(tm, onInsert, new), true
	case was && tm.selected&onDelete != 0:
		return m.deleted(tm, old), true
	}
	return nil, false
}

// whole shows all monitored columns; update2 leaves out those with the default
// value.
func (m *monitor) whole(tm *tableMonitor, e event, r *row) any {
	if m.protocol == protocolUpdate {
		return map[string]any{"new": tm.values(e, r)}
	}
	values := map[string]any{}
	for _, name := range tm.names {
		d := r.get(name)
		if c := tm.table.columns[name]; tm.selects[name]&e == 0 || (c != nil && d.equal(c.typ.zero())) {
			continue
		}
		values[name] = d.json()
	}
	if e == onInitial {
		return map[string]any{"initial": values}
	}
	return map[string]any{"insert": values}
}

func (m *monitor) deleted(tm *tableMonitor, r *row) any {
	if m.protocol == protocolUpdate {
		return map[string]any{"old": tm.values(onDelete, r)}
	}
	return map[string]any{"delete": nil}
}

func (m *monitor) modified(tm *tableMonitor, old, new *row) (any, bool) {
	changed, was, diff := false, map[string]any{}, map[string]any{}
	for _, name := range tm.names {
		from, to := old.get(name), new.get(name)
		if from.equal(to) {
			continue
		}
		changed = true
		if tm.selects[name]&onModify == 0 {
			continue
		}
		was[name] = from.json()
		diff[name] = to.json()
		if c := tm.table.columns[name]; c != nil {
			diff[name] = c.typ.diff(from, to).json()
		}
	}
	switch {
	case !changed || tm.selected&onModify == 0:
		return nil, false
	case m.protocol == protocolUpdate:
		return map[string]any{"old": was, "new": tm.values(onModify, new)}, true
	default:
		return map[string]any{"modify": diff}, true
	}
}

func (tm *tableMonitor) values(e event, r *row) map[string]any {
	values := make(map[string]any, len(tm.names))
	for _, name := range tm.names {
		if tm.selects[name]&e != 0 {
			values[name] = r.get(name).json()
		}
	}
	return values
}

// changeConditions replaces conditions and returns the rows that come into
// view and leave it.
func (m *monitor) changeConditions(st *store, conditions map[string][]clause) tableUpdates {
	u := tableUpdates{}
	for name, where := range conditions {
		tm := m.tables[name]
		next := *tm
		next.where = where
		for id, r := range st.rows[name] {
			was, is := tm.matches(r), next.matches(r)
			if was == is {
				continue
			}
			if v, ok := m.rowUpdate(tm, r, r, was, is); ok {
				u.add(name, id, v)
			}
		}
		m.tables[name] = &next
	}
	return u
}

// parseMonitor reads the <monitor-requests> of a monitor request: per table
// one <monitor-request> or an array of them.
func parseMonitor(s Schema, protocol int, v any) (map[string]*tableMonitor, *dbError) {
	requests, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "monitor-requests must be object")
	}
	tables := map[string]*tableMonitor{}
	for name, request := range requests {
		t, ok := s.tables[name]
		if !ok {
			return nil, syntaxError(nil, "no table named %s", name)
		}
		list, isList := request.([]any)
		if !isList {
			list = []any{request}
		}
		tm := &tableMonitor{table: t, selects: map[string]event{}}
		for i, item := range list {
			if err := tm.add(protocol, item, i == 0); err != nil {
				return nil, err
			}
		}
		slices.Sort(tm.names)
		tables[name] = tm
	}
	return tables, nil
}

// add merges one <monitor-request>. As in ovsdb-server, only the first one's
// condition counts.
func (tm *tableMonitor) add(protocol int, v any, first bool) *dbError {
	o := &operation{n: 1, total: 1}
	var ok bool
	if o.source, ok = v.(map[string]any); !ok {
		return syntaxError(v, "Parsing table %s failed: Object expected.", tm.table.name)
	}
	columns := append([]string{"_version"}, tm.table.names...)
	if list, ok := o.optional("columns"); ok {
		var err *dbError
		if columns, err = tm.table.columnNames(list); err != nil {
			return err
		}
	}
	selected, err := parseSelect(tm.table.name, o)
	if err != nil {
		return err
	}
	if protocol != protocolUpdate {
		if where, ok := o.optional("where"); ok && first {
			if tm.where, err = tm.table.parseCondition(where, nil); err != nil {
				return err
			}
		}
	}
	if name, ok := o.unknown(); ok {
		return syntaxError(v, "Parsing table %s failed: Member '%s' is present but not allowed here.", tm.table.name, name)
	}
	for _, name := range columns {
		if _, dup := tm.selects[name]; dup {
			return syntaxError(nil, "column %s mentioned more than once", name)
		}
		tm.selects[name] = selected
		tm.names = append(tm.names, name)
	}
	tm.selected |= selected
	return nil
}

// parseSelect reads <monitor-select>; what it does not name is selected.
func parseSelect(table string, o *operation) (event, *dbError) {
	selected := onInitial | onInsert | onModify | onDelete
	v, ok := o.optional("select")
	if !ok || v == nil {
		return selected, nil
	}
	s := &operation{n: o.n, total: o.total}
	if s.source, ok = v.(map[string]any); !ok {
		return 0, syntaxError(v, "Parsing monitor-select failed: Object expected.")
	}
	for name, e := range map[string]event{"initial": onInitial, "insert": onInsert, "modify": onModify, "delete": onDelete} {
		if _, given := s.source[name]; !given {
			continue
		}
		on, err := s.boolean(name)
		if err != nil {
			return 0, err
		}
		if !on {
			selected &^= e
		}
	}
	if name, ok := s.unknown(); ok {
		return 0, syntaxError(v, "Parsing table %s select failed: Member '%s' is present but not allowed here.", table, name)
	}
	return selected, nil
}
