// Package row reads the columns of OVSDB rows, as agent/ovsdb/client delivers
// them: atoms, sets and maps in libovsdb's notation.
//
// A column that is absent (the server's schema may lack it), empty, or of another
// type than the one asked for reads as the zero value: rows are written by others,
// and an odd one must not stop the reader. A set of one element reads as that
// element, as RFC 7047, section 5.1, has it.
package row

import (
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// String is a string column, or the element of an optional one.
func String(r libovsdb.Row, column string) string {
	v, _ := single[string](r, column)
	return v
}

// Bool is a boolean column; an optional one that is unset is false.
func Bool(r libovsdb.Row, column string) bool {
	v, _ := single[bool](r, column)
	return v
}

// OptBool is an optional boolean column, and whether it is set.
func OptBool(r libovsdb.Row, column string) (value, set bool) {
	return single[bool](r, column)
}

// Int is an integer column; an optional one that is unset is 0.
func Int(r libovsdb.Row, column string) int {
	v, _ := single[int](r, column)
	return v
}

// OptInt is an optional integer column, and whether it is set.
func OptInt(r libovsdb.Row, column string) (value int, set bool) {
	return single[int](r, column)
}

// UUID is the UUID that a column refers to; empty if it refers to none.
func UUID(r libovsdb.Row, column string) string {
	v, _ := single[libovsdb.UUID](r, column)
	return v.GoUUID
}

// Strings are the elements of a set of strings, sorted.
func Strings(r libovsdb.Row, column string) []string {
	var values []string
	for _, e := range elements(r[column]) {
		if s, ok := e.(string); ok {
			values = append(values, s)
		}
	}
	slices.Sort(values)
	return values
}

// UUIDs are the UUIDs that a column refers to, sorted.
func UUIDs(r libovsdb.Row, column string) []string {
	var values []string
	for _, e := range elements(r[column]) {
		if u, ok := e.(libovsdb.UUID); ok {
			values = append(values, u.GoUUID)
		}
	}
	slices.Sort(values)
	return values
}

// Map is a map column, never nil. Keys and values other than strings are given in
// their textual form.
func Map(r libovsdb.Row, column string) map[string]string {
	m, _ := r[column].(libovsdb.OvsMap)
	values := make(map[string]string, len(m.GoMap))
	for k, v := range m.GoMap {
		values[text(k)] = text(v)
	}
	return values
}

func text(atom any) string {
	switch a := atom.(type) {
	case string:
		return a
	case libovsdb.UUID:
		return a.GoUUID
	}
	return fmt.Sprint(atom)
}

// single is the value of a column with exactly one element, of type T.
func single[T any](r libovsdb.Row, column string) (value T, ok bool) {
	if e := elements(r[column]); len(e) == 1 {
		value, ok = e[0].(T)
	}
	return value, ok
}

func elements(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case libovsdb.OvsSet:
		return v.GoSet
	}
	return []any{v}
}
