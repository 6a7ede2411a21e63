package ovsdb

import (
	"fmt"
	"math"
	"slices"
)

// datum is a column's value: a set of atoms, or a map when values is not nil.
// A scalar is a set of one. Keys are sorted and unique, so equal values have
// equal slices. A datum is never changed once it is in a row.
type datum struct {
	keys   []atom
	values []atom
}

func (t *columnType) isMap() bool            { return t.value != nil }
func (t *columnType) isScalar() bool         { return t.value == nil && t.min == 1 && t.max == 1 }
func (t *columnType) isOptionalScalar() bool { return t.value == nil && t.min == 0 && t.max == 1 }

// relaxed is the type without a lower, and if unbounded without an upper,
// limit on its size.
func (t *columnType) relaxed(unbounded bool) *columnType {
	r := *t
	r.min = 0
	if unbounded {
		r.max = unlimited
	}
	return &r
}

// zero is the value a column has when an insert does not name it.
func (t *columnType) zero() datum {
	if t.min == 0 {
		return t.make(nil, nil)
	}
	if t.isMap() {
		return t.make([]atom{t.key.kind.zero()}, []atom{t.value.kind.zero()})
	}
	return t.make([]atom{t.key.kind.zero()}, nil)
}

func (t *columnType) make(keys, values []atom) datum {
	d := datum{keys: keys}
	if t.isMap() {
		d.values = values
		if d.values == nil {
			d.values = []atom{}
		}
	}
	return d
}

// parse reads a value of type t from its JSON form (RFC 7047 section 5.1) and
// checks sizes and constraints.
func (t *columnType) parse(v any, syms symbols) (datum, *dbError) {
	members, class, isList := listOf(v)
	switch {
	case t.isMap():
		if class != "map" {
			return datum{}, syntaxError(v, "expected [\"map\", <array>]")
		}
		return t.parseMap(v, members, syms)
	case isList && class == "set":
		return t.parseSet(v, members, syms)
	default:
		a, err := t.parseKey(v, syms)
		if err != nil {
			return datum{}, err
		}
		return t.make([]atom{a}, nil), nil
	}
}

// listOf takes a ["set", [...]] or ["map", [...]] apart.
func listOf(v any) (members []any, class string, ok bool) {
	pair, isPair := v.([]any)
	if !isPair || len(pair) != 2 {
		return nil, "", false
	}
	class, isClass := pair[0].(string)
	members, isArray := pair[1].([]any)
	if !isClass || !isArray || (class != "set" && class != "map") {
		return nil, "", false
	}
	return members, class, true
}

func (t *columnType) parseSet(v any, members []any, syms symbols) (datum, *dbError) {
	if err := t.checkCount(v, "set", len(members)); err != nil {
		return datum{}, err
	}
	keys := make([]atom, 0, len(members))
	for _, m := range members {
		a, err := t.parseKey(m, syms)
		if err != nil {
			return datum{}, err
		}
		keys = append(keys, a)
	}
	slices.SortFunc(keys, compareAtoms)
	if n := len(keys); len(slices.CompactFunc(keys, func(a, b atom) bool { return a == b })) != n {
		return datum{}, newDBError("ovsdb error", "set contains duplicate")
	}
	return t.make(keys, nil), nil
}

func (t *columnType) parseMap(v any, members []any, syms symbols) (datum, *dbError) {
	if err := t.checkCount(v, "map", len(members)); err != nil {
		return datum{}, err
	}
	pairs := make(map[atom]atom, len(members))
	for _, m := range members {
		pair, ok := m.([]any)
		if !ok || len(pair) != 2 {
			return datum{}, syntaxError(m, "expected 2-element array")
		}
		k, err := t.parseKey(pair[0], syms)
		if err != nil {
			return datum{}, err
		}
		val, err := parseAtom(t.value.kind, pair[1], syms)
		if err != nil {
			return datum{}, err
		}
		if err := t.value.check(val); err != nil {
			return datum{}, err
		}
		if _, dup := pairs[k]; dup {
			return datum{}, newDBError("ovsdb error", "map contains duplicate key")
		}
		pairs[k] = val
	}
	return fromPairs(pairs), nil
}

func (t *columnType) parseKey(v any, syms symbols) (atom, *dbError) {
	a, err := parseAtom(t.key.kind, v, syms)
	if err != nil {
		return nil, err
	}
	if err := t.key.check(a); err != nil {
		return nil, err
	}
	return a, nil
}

func (t *columnType) checkCount(v any, class string, n int) *dbError {
	if n >= t.min && n <= t.max {
		return nil
	}
	if t.min == t.max {
		return syntaxError(v, "%s must have exactly one member but %d are present", class, n)
	}
	return syntaxError(v, "%s must have %d to %s members but %d are present", class, t.min, t.maxText(), n)
}

func (t *columnType) maxText() string {
	if t.max == unlimited {
		return fmt.Sprint(uint32(math.MaxUint32))
	}
	return fmt.Sprint(t.max)
}

func fromPairs(pairs map[atom]atom) datum {
	d := datum{keys: make([]atom, 0, len(pairs)), values: make([]atom, 0, len(pairs))}
	for k := range pairs {
		d.keys = append(d.keys, k)
	}
	slices.SortFunc(d.keys, compareAtoms)
	for _, k := range d.keys {
		d.values = append(d.values, pairs[k])
	}
	return d
}

func (d datum) pairs() map[atom]atom {
	m := make(map[atom]atom, len(d.keys))
	for i, k := range d.keys {
		m[k] = d.values[i]
	}
	return m
}

// json is the value's JSON form: a set of one is written as the bare atom.
func (d datum) json() any {
	if d.values != nil {
		pairs := make([]any, len(d.keys))
		for i, k := range d.keys {
			pairs[i] = []any{atomJSON(k), atomJSON(d.values[i])}
		}
		return []any{"map", pairs}
	}
	if len(d.keys) == 1 {
		return atomJSON(d.keys[0])
	}
	members := make([]any, len(d.keys))
	for i, k := range d.keys {
		members[i] = atomJSON(k)
	}
	return []any{"set", members}
}

func (d datum) equal(o datum) bool {
	return slices.Equal(d.keys, o.keys) && slices.Equal(d.values, o.values)
}

// find is the position of a key, or -1.
func (d datum) find(k atom) int {
	if i, ok := slices.BinarySearchFunc(d.keys, k, compareAtoms); ok {
		return i
	}
	return -1
}

// has tells whether d contains the i-th element (key and value) of o.
func (d datum) has(o datum, i int) bool {
	at := d.find(o.keys[i])
	return at >= 0 && (d.values == nil || d.values[at] == o.values[i])
}

func (d datum) includes(o datum) bool {
	for i := range o.keys {
		if !d.has(o, i) {
			return false
		}
	}
	return true
}

func (d datum) excludes(o datum) bool {
	for i := range o.keys {
		if d.has(o, i) {
			return false
		}
	}
	return true
}

// diff is the difference that "modify" of update2 carries (ovsdb-server(7)
// section 4.1.14): the new value of a scalar or optional scalar, the elements
// only in one of two sets, the pairs of a map that were added or changed with
// the new value and those that were removed with the old one.
func (t *columnType) diff(from, to datum) datum {
	switch {
	case t.max == 1:
		return to
	case t.isMap():
		return diffMap(from, to)
	}
	keys := []atom{}
	for i, k := range from.keys {
		if !to.has(from, i) {
			keys = append(keys, k)
		}
	}
	for i, k := range to.keys {
		if !from.has(to, i) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareAtoms)
	return datum{keys: keys}
}

func diffMap(from, to datum) datum {
	pairs := map[atom]atom{}
	for i, k := range from.keys {
		if to.find(k) < 0 {
			pairs[k] = from.values[i]
		}
	}
	for i, k := range to.keys {
		if !from.has(to, i) {
			pairs[k] = to.values[i]
		}
	}
	return fromPairs(pairs)
}

// without is d less the elements whose key drop tells to remove.
func (d datum) without(drop func(i int) bool) datum {
	out := datum{keys: []atom{}}
	if d.values != nil {
		out.values = []atom{}
	}
	for i, k := range d.keys {
		if drop(i) {
			continue
		}
		out.keys = append(out.keys, k)
		if d.values != nil {
			out.values = append(out.values, d.values[i])
		}
	}
	return out
}
