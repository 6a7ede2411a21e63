package ovsdb

import (
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// UUID refers to an existing row in a Row or a condition.
type UUID string

// NamedUUID refers to a row that the same transaction inserts under this name.
type NamedUUID string

// Row gives columns native Go values: string, bool, int, float64, UUID,
// NamedUUID, a slice of one of these for a set, map[string]string, map[string]int
// or map[string]UUID for a map. An optional scalar takes the scalar, or an empty slice (nil in
// particular) for none.
type Row map[string]any

func (r Row) encode() ovsdb.Row {
	out := make(ovsdb.Row, len(r))
	for column, v := range r {
		out[column] = encodeValue(v)
	}
	return out
}

// encodeValue gives v its OVSDB form. A type it does not know is left as it
// is; the server then refuses the operation.
func encodeValue(v any) any {
	switch x := v.(type) {
	case nil:
		return encodeSet[string](nil)
	case UUID:
		return ovsdb.UUID{GoUUID: string(x)}
	case NamedUUID:
		return ovsdb.UUID{GoUUID: string(x)}
	case []string:
		return encodeSet(x)
	case []int:
		return encodeSet(x)
	case []bool:
		return encodeSet(x)
	case []UUID:
		return encodeSet(x)
	case []NamedUUID:
		return encodeSet(x)
	case map[string]string:
		return encodeMap(x)
	case map[string]int:
		return encodeMap(x)
	case map[string]UUID:
		return encodeMap(x)
	}
	return v
}

func encodeSet[T any](members []T) ovsdb.OvsSet {
	set := ovsdb.OvsSet{GoSet: make([]any, len(members))}
	for i, m := range members {
		set.GoSet[i] = encodeValue(m)
	}
	return set
}

func encodeMap[T any](pairs map[string]T) ovsdb.OvsMap {
	m := ovsdb.OvsMap{GoMap: make(map[any]any, len(pairs))}
	for k, v := range pairs {
		m.GoMap[k] = encodeValue(v)
	}
	return m
}

// Where is a condition on one column.
func Where(column string, function ovsdb.ConditionFunction, value any) ovsdb.Condition {
	return ovsdb.NewCondition(column, function, encodeValue(value))
}

// Is is the condition that a column equals value.
func Is(column string, value any) ovsdb.Condition {
	return Where(column, ovsdb.ConditionEqual, value)
}

// Insert adds a row. name, if not empty, is what NamedUUID refers to.
func Insert(table string, name NamedUUID, row Row) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationInsert, Table: table, UUIDName: string(name), Row: row.encode()}
}

// Update sets columns of the rows for which all conditions hold.
func Update(table string, row Row, where ...ovsdb.Condition) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationUpdate, Table: table, Row: row.encode(), Where: where}
}

// Delete removes the rows for which all conditions hold.
func Delete(table string, where ...ovsdb.Condition) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationDelete, Table: table, Where: where}
}

// Mutate changes one column of the rows for which all conditions hold.
func Mutate(table, column string, mutator ovsdb.Mutator, value any, where ...ovsdb.Condition) ovsdb.Operation {
	m := ovsdb.NewMutation(column, mutator, encodeValue(value))
	return ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Mutations: []ovsdb.Mutation{*m}, Where: where}
}

// Select reads columns, all of them without names, of the rows for which all
// conditions hold.
func Select(table string, columns []string, where ...ovsdb.Condition) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationSelect, Table: table, Columns: columns, Where: where}
}

// Strings is a column of strings or UUIDs as read by Select, as a slice.
func Strings(v any) []string {
	switch x := v.(type) {
	case ovsdb.OvsSet:
		out := make([]string, 0, len(x.GoSet))
		for _, m := range x.GoSet {
			out = append(out, Strings(m)...)
		}
		return out
	case ovsdb.UUID:
		return []string{x.GoUUID}
	case nil:
		return nil
	}
	return []string{fmt.Sprint(v)}
}

// StringMap is a column of string pairs as read by Select.
func StringMap(v any) map[string]string {
	m, ok := v.(ovsdb.OvsMap)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(m.GoMap))
	for k, v := range m.GoMap {
		out[fmt.Sprint(k)] = fmt.Sprint(v)
	}
	return out
}
