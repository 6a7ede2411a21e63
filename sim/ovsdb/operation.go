package ovsdb

import (
	"encoding/json"
	"slices"
)

// operation is one <operation> object being taken apart. Members must be used
// up: ovsdb-server refuses those it does not know.
type operation struct {
	op       string
	source   map[string]any
	used     []string
	n, total int
}

func parseOperation(raw json.RawMessage, n, total int) (*operation, *dbError) {
	var v any
	if err := decodeNumbers(raw, &v); err != nil {
		return nil, syntaxError(string(raw), "%s", err)
	}
	source, ok := v.(map[string]any)
	o := &operation{source: source, n: n, total: total}
	if !ok {
		return nil, syntaxError(v, "Parsing ovsdb operation %d of %d failed: Object expected.", n, total)
	}
	var err *dbError
	o.op, err = o.text("op")
	return o, err
}

func (o *operation) fail(format string, args ...any) *dbError {
	e := syntaxError(o.source, "Parsing ovsdb operation %d of %d failed: ", o.n, o.total)
	e.details += newDBError("", format, args...).details
	return e
}

func (o *operation) optional(name string) (any, bool) {
	v, ok := o.source[name]
	if ok {
		o.used = append(o.used, name)
	}
	return v, ok
}

func (o *operation) member(name string) (any, *dbError) {
	if v, ok := o.optional(name); ok {
		return v, nil
	}
	return nil, o.fail("Required '%s' member is missing.", name)
}

func (o *operation) text(name string) (string, *dbError) {
	v, err := o.member(name)
	if err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", o.fail("Type mismatch for member '%s'.", name)
	}
	return s, nil
}

func (o *operation) optionalText(name string) (string, bool, *dbError) {
	if _, ok := o.source[name]; !ok {
		return "", false, nil
	}
	s, err := o.text(name)
	return s, true, err
}

func (o *operation) boolean(name string) (bool, *dbError) {
	v, err := o.member(name)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, o.fail("Type mismatch for member '%s'.", name)
	}
	return b, nil
}

func (o *operation) array(name string) ([]any, *dbError) {
	v, err := o.member(name)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, o.fail("Type mismatch for member '%s'.", name)
	}
	return list, nil
}

func (o *operation) table(s Schema) (*tableSchema, *dbError) {
	name, err := o.text("table")
	if err != nil {
		return nil, err
	}
	t, ok := s.tables[name]
	if !ok {
		return nil, o.fail("No table named %s.", name)
	}
	return t, nil
}

// columns reads an optional list of column names; nil if it is absent.
func (o *operation) columns(t *tableSchema) ([]string, *dbError) {
	v, ok := o.optional("columns")
	if !ok {
		return nil, nil
	}
	return t.columnList(v)
}

// columnList reads a JSON array of distinct column names.
func (t *tableSchema) columnList(v any) ([]string, *dbError) {
	names, err := t.columnNames(v)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(names) {
		return nil, syntaxError(v, "array of distinct column names expected")
	}
	return names, nil
}

func (t *tableSchema) columnNames(v any) ([]string, *dbError) {
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "array of distinct column names expected")
	}
	names := []string{}
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, syntaxError(v, "array of distinct column names expected")
		}
		if metaColumn(name) == nil && t.columns[name] == nil {
			return nil, syntaxError(v, "%s is not a valid column name", name)
		}
		names = append(names, name)
	}
	return names, nil
}

// finish reports the first of errs, else a member that nobody asked for.
func (o *operation) finish(errs ...*dbError) *dbError {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if name, ok := o.unknown(); ok {
		return o.fail("Member '%s' is present but not allowed here.", name)
	}
	return nil
}

// unknown is a member that nobody asked for.
func (o *operation) unknown() (string, bool) {
	for name := range o.source {
		if !slices.Contains(o.used, name) {
			return name, true
		}
	}
	return "", false
}

// query reads "table", "where" and "columns" and finds the rows.
func (tx *transaction) query(o *operation) (*tableSchema, []*row, []string, *dbError) {
	t, err := o.table(tx.store.schema)
	if err != nil {
		return nil, nil, nil, err
	}
	list, err := o.array("where")
	if err != nil {
		return nil, nil, nil, err
	}
	var columns []string
	if o.op == "select" {
		if columns, err = o.columns(t); err != nil {
			return nil, nil, nil, err
		}
	}
	where, err := t.parseCondition(any(list), tx.syms)
	if err != nil {
		return nil, nil, nil, err
	}
	return t, tx.matching(t, where), columns, nil
}
