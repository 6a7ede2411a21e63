package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// decode turns a <value> of RFC 7047, section 5.1, into what the package's
// documentation says of the column's type. v is as encoding/json makes it, with
// numbers as json.Number.
func (c column) decode(v any) (any, error) {
	switch {
	case c.isMap():
		return c.decodeMap(v)
	case c.isScalar():
		if elements, ok := tagged("set", v); ok && len(elements) == 1 {
			v = elements[0]
		}
		return decodeAtom(c.key, v)
	default:
		return c.decodeSet(v)
	}
}

func (c column) decodeSet(v any) (any, error) {
	elements, ok := tagged("set", v)
	if !ok {
		elements = []any{v}
	}
	set := make([]any, len(elements))
	for i, e := range elements {
		atom, err := decodeAtom(c.key, e)
		if err != nil {
			return nil, err
		}
		set[i] = atom
	}
	slices.SortFunc(set, compareAtoms)
	return libovsdb.OvsSet{GoSet: set}, nil
}

func (c column) decodeMap(v any) (any, error) {
	pairs, ok := tagged("map", v)
	if !ok {
		return nil, fmt.Errorf("no map: %v", v)
	}
	m := make(map[any]any, len(pairs))
	for _, p := range pairs {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("no pair of a map: %v", p)
		}
		key, err := decodeAtom(c.key, pair[0])
		if err != nil {
			return nil, err
		}
		if m[key], err = decodeAtom(c.value, pair[1]); err != nil {
			return nil, err
		}
	}
	return libovsdb.OvsMap{GoMap: m}, nil
}

// tagged returns the array that a two-element array such as ["set", […]] holds.
func tagged(tag string, v any) ([]any, bool) {
	outer, ok := v.([]any)
	if !ok || len(outer) != 2 || outer[0] != tag {
		return nil, false
	}
	inner, ok := outer[1].([]any)
	return inner, ok
}

func decodeAtom(atomic string, v any) (any, error) {
	switch x := v.(type) {
	case string:
		if atomic == typeString {
			return x, nil
		}
	case bool:
		if atomic == typeBoolean {
			return x, nil
		}
	case json.Number:
		return decodeNumber(atomic, x)
	case []any:
		if atomic == typeUUID && len(x) == 2 && x[0] == "uuid" {
			if uuid, ok := x[1].(string); ok {
				return libovsdb.UUID{GoUUID: uuid}, nil
			}
		}
	}
	return nil, fmt.Errorf("no %s: %v", atomic, v)
}

func decodeNumber(atomic string, n json.Number) (any, error) {
	switch atomic {
	case typeInteger:
		i, err := n.Int64()
		if err != nil {
			return nil, fmt.Errorf("no integer: %w", err)
		}
		return int(i), nil
	case typeReal:
		f, err := n.Float64()
		if err != nil {
			return nil, fmt.Errorf("no real: %w", err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("no %s: %v", atomic, n)
}

// empty is the default value of RFC 7047, section 5.2.1, which update2 leaves out
// of an inserted row.
func (c column) empty() any {
	switch {
	case c.isMap():
		return libovsdb.OvsMap{GoMap: map[any]any{}}
	case c.isScalar():
		return emptyAtom(c.key)
	case c.min > 0:
		return libovsdb.OvsSet{GoSet: []any{emptyAtom(c.key)}}
	default:
		return libovsdb.OvsSet{GoSet: []any{}}
	}
}

func emptyAtom(atomic string) any {
	switch atomic {
	case typeInteger:
		return 0
	case typeReal:
		return 0.0
	case typeBoolean:
		return false
	case typeUUID:
		return libovsdb.UUID{GoUUID: "00000000-0000-0000-0000-000000000000"}
	default:
		return ""
	}
}

// change applies the difference that update2 gives for a modified column to its
// old value (ovsdb-server(7), section 4.1.14). A column of at most one element,
// set or map, comes as its new value.
func (c column) change(old, difference any) any {
	if c.max == 1 {
		return difference
	}
	switch d := difference.(type) {
	case libovsdb.OvsSet:
		return changeSet(old.(libovsdb.OvsSet), d)
	case libovsdb.OvsMap:
		return changeMap(old.(libovsdb.OvsMap), d)
	}
	return difference
}

// changeSet: an element of the difference is removed if it was there, else added.
func changeSet(old, difference libovsdb.OvsSet) libovsdb.OvsSet {
	toggled := make(map[any]bool, len(difference.GoSet))
	for _, e := range difference.GoSet {
		toggled[e] = true
	}
	set := make([]any, 0, len(old.GoSet)+len(difference.GoSet))
	for _, e := range old.GoSet {
		if toggled[e] {
			delete(toggled, e)
		} else {
			set = append(set, e)
		}
	}
	for e := range toggled {
		set = append(set, e)
	}
	slices.SortFunc(set, compareAtoms)
	return libovsdb.OvsSet{GoSet: set}
}

// changeMap: a pair of the difference is removed if it was there just so, else it
// is the new value of its key.
func changeMap(old, difference libovsdb.OvsMap) libovsdb.OvsMap {
	m := make(map[any]any, len(old.GoMap)+len(difference.GoMap))
	for k, v := range old.GoMap {
		m[k] = v
	}
	for k, v := range difference.GoMap {
		if was, ok := m[k]; ok && was == v {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	return libovsdb.OvsMap{GoMap: m}
}

// compareAtoms orders atoms of one type.
func compareAtoms(a, b any) int {
	switch x := a.(type) {
	case string:
		y, _ := b.(string)
		return cmp.Compare(x, y)
	case int:
		y, _ := b.(int)
		return cmp.Compare(x, y)
	case float64:
		y, _ := b.(float64)
		return cmp.Compare(x, y)
	case bool:
		y, _ := b.(bool)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case libovsdb.UUID:
		y, _ := b.(libovsdb.UUID)
		return cmp.Compare(x.GoUUID, y.GoUUID)
	}
	return 0
}
