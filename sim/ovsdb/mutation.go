package ovsdb

import (
	"math"
	"slices"
)

// mutation is one <mutation> (RFC 7047 section 5.1).
type mutation struct {
	column  *columnSchema
	mutator string
	value   datum
	byKey   bool // delete of map pairs by key alone
}

func (t *tableSchema) parseMutation(v any, syms symbols) (mutation, *dbError) {
	triple, ok := v.([]any)
	if !ok || len(triple) != 3 {
		return mutation{}, syntaxError(v, "Parse error in mutation.")
	}
	name, nameOK := triple[0].(string)
	mutator, mutatorOK := triple[1].(string)
	if !nameOK || !mutatorOK {
		return mutation{}, syntaxError(v, "Parse error in mutation.")
	}
	c, err := t.column(name, v)
	if err != nil {
		return mutation{}, err
	}
	if !c.mutable || metaColumn(name) != nil {
		return mutation{}, &dbError{tag: "constraint violation", syntax: v,
			details: "Cannot mutate immutable column " + name + " in table " + t.name + "."}
	}
	m := mutation{column: c, mutator: mutator}
	return m, m.parseOperand(triple[2], v, syms)
}

func (m *mutation) parseOperand(v, at any, syms symbols) (err *dbError) {
	t := m.column.typ
	switch m.mutator {
	case "+=", "-=", "*=", "/=", "%=":
		if t.isMap() || !arithmetic(t.key.kind, m.mutator) {
			return m.mismatch(at)
		}
		m.value, err = (&columnType{key: &baseType{kind: t.key.kind, minInt: math.MinInt64, maxInt: math.MaxInt64, minReal: -math.MaxFloat64, maxReal: math.MaxFloat64}, min: 1, max: 1}).parse(v, syms)
		return err
	case "insert", "delete":
		if t.isScalar() {
			return m.mismatch(at)
		}
		wide := t.relaxed(true)
		if _, class, _ := listOf(v); m.mutator == "delete" && t.isMap() && class != "map" {
			m.byKey = true
			wide.value = nil
		}
		m.value, err = wide.parse(v, syms)
		return err
	}
	return newDBError("unknown mutator", "No mutator named %s.", m.mutator)
}

func arithmetic(k atomKind, mutator string) bool {
	return k == kindInteger || (k == kindReal && mutator != "%=")
}

func (m *mutation) mismatch(at any) *dbError {
	return syntaxError(at, "Type mismatch: \"%s\" operator may not be applied to column %s of type %s.", m.mutator, m.column.name, m.column.typ)
}

// apply is the mutated value, checked against the column's constraints.
func (m *mutation) apply(d datum) (datum, *dbError) {
	out, err := m.mutate(d)
	if err != nil {
		return datum{}, err
	}
	t := m.column.typ
	if n := len(out.keys); n < t.min || n > t.max {
		return datum{}, constraint("Attempted to store %d elements in %s.", n, t)
	}
	return out, nil
}

func (m *mutation) mutate(d datum) (datum, *dbError) {
	switch m.mutator {
	case "insert":
		return m.insert(d), nil
	case "delete":
		if m.byKey {
			return d.without(func(i int) bool { return m.value.find(d.keys[i]) >= 0 }), nil
		}
		return d.without(func(i int) bool { return m.value.has(d, i) }), nil
	}
	keys := make([]atom, len(d.keys))
	for i, k := range d.keys {
		a, err := calculate(k, m.mutator, m.value.keys[0])
		if err != nil {
			return datum{}, err
		}
		if err := m.column.typ.key.check(a); err != nil {
			return datum{}, err
		}
		keys[i] = a
	}
	slices.SortFunc(keys, compareAtoms)
	if len(slices.CompactFunc(slices.Clone(keys), func(a, b atom) bool { return a == b })) != len(keys) {
		return datum{}, constraint("Result of \"%s\" operation in column %s contains duplicates.", m.mutator, m.column.name)
	}
	return datum{keys: keys}, nil
}

// insert adds the elements that are not there; a map key that is there keeps
// its value.
func (m *mutation) insert(d datum) datum {
	if d.values != nil {
		pairs := d.pairs()
		for i, k := range m.value.keys {
			if _, there := pairs[k]; !there {
				pairs[k] = m.value.values[i]
			}
		}
		return fromPairs(pairs)
	}
	keys := slices.Clone(d.keys)
	for _, k := range m.value.keys {
		if d.find(k) < 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareAtoms)
	return datum{keys: keys}
}

func calculate(a atom, mutator string, b atom) (atom, *dbError) {
	if x, ok := a.(float64); ok {
		return calculateReal(x, mutator, b.(float64))
	}
	x, y := a.(int64), b.(int64)
	overflow := newDBError("range error", "Result of \"%s\" operation is out of range.", mutator)
	switch mutator {
	case "+=":
		if (y > 0 && x > math.MaxInt64-y) || (y < 0 && x < math.MinInt64-y) {
			return nil, overflow
		}
		return x + y, nil
	case "-=":
		if (y < 0 && x > math.MaxInt64+y) || (y > 0 && x < math.MinInt64+y) {
			return nil, overflow
		}
		return x - y, nil
	case "*=":
		if p := x * y; x == 0 || (p/x == y && !(x == -1 && y == math.MinInt64)) {
			return p, nil
		}
		return nil, overflow
	}
	if y == 0 {
		return nil, newDBError("domain error", "Division by zero.")
	}
	if y == -1 && x == math.MinInt64 {
		return nil, overflow
	}
	if mutator == "/=" {
		return x / y, nil
	}
	return x % y, nil
}

func calculateReal(x float64, mutator string, y float64) (atom, *dbError) {
	var z float64
	switch mutator {
	case "+=":
		z = x + y
	case "-=":
		z = x - y
	case "*=":
		z = x * y
	default:
		if y == 0 {
			return nil, newDBError("domain error", "Division by zero.")
		}
		z = x / y
	}
	if math.IsInf(z, 0) || math.IsNaN(z) {
		return nil, newDBError("range error", "Result of \"%s\" operation is out of range.", mutator)
	}
	return z, nil
}
