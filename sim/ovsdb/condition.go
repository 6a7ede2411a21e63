package ovsdb

import "fmt"

// clause is one <condition> (RFC 7047 section 5.1), or a boolean constant as
// ovsdb-server(7) section 4.1.12 adds it.
type clause struct {
	constant *bool
	column   string
	function string
	value    datum
}

// metaColumn is the type of _uuid and _version, nil for other columns.
func metaColumn(name string) *columnSchema {
	if name != "_uuid" && name != "_version" {
		return nil
	}
	return &columnSchema{name: name, typ: &columnType{key: &baseType{kind: kindUUID}, min: 1, max: 1}}
}

// column looks a column up, _uuid and _version included.
func (t *tableSchema) column(name string, at any) (*columnSchema, *dbError) {
	if c := metaColumn(name); c != nil {
		return c, nil
	}
	if c, ok := t.columns[name]; ok {
		return c, nil
	}
	return nil, &dbError{tag: "unknown column", details: "No column " + name + " in table " + t.name + ".", syntax: at}
}

// parseCondition reads a list of clauses.
func (t *tableSchema) parseCondition(v any, syms symbols) ([]clause, *dbError) {
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "array expected")
	}
	clauses := make([]clause, 0, len(list))
	for _, item := range list {
		c, err := t.parseClause(item, syms)
		if err != nil {
			return nil, err
		}
		clauses = append(clauses, c)
	}
	return clauses, nil
}

func (t *tableSchema) parseClause(v any, syms symbols) (clause, *dbError) {
	if b, ok := v.(bool); ok {
		return clause{constant: &b}, nil
	}
	triple, ok := v.([]any)
	if !ok || len(triple) != 3 {
		return clause{}, syntaxError(v, "Parse error in condition.")
	}
	name, nameOK := triple[0].(string)
	function, functionOK := triple[1].(string)
	if !nameOK || !functionOK {
		return clause{}, syntaxError(v, "Parse error in condition.")
	}
	c, err := t.column(name, v)
	if err != nil {
		return clause{}, err
	}
	typ, err := operandType(c, function, v)
	if err != nil {
		return clause{}, err
	}
	value, err := typ.parse(triple[2], syms)
	if err != nil {
		return clause{}, err
	}
	return clause{column: name, function: function, value: value}, nil
}

// operandType is the type that a function's right-hand side must have.
func operandType(c *columnSchema, function string, at any) (*columnType, *dbError) {
	switch function {
	case "==", "!=":
		return c.typ, nil
	case "includes":
		return c.typ.relaxedUnlessScalar(false), nil
	case "excludes":
		return c.typ.relaxedUnlessScalar(true), nil
	case "<", "<=", ">", ">=":
		ordered := c.typ.key.kind == kindInteger || c.typ.key.kind == kindReal
		if !ordered || !(c.typ.isScalar() || c.typ.isOptionalScalar()) {
			return nil, syntaxError(at, "Type mismatch: \"%s\" operator may not be applied to column %s of type %s.", function, c.name, c.typ)
		}
		scalar := *c.typ
		scalar.min = 1
		return &scalar, nil
	}
	return nil, newDBError("unknown function", "No function named %s.", function)
}

func (t *columnType) relaxedUnlessScalar(unbounded bool) *columnType {
	if t.isScalar() {
		return t
	}
	return t.relaxed(unbounded)
}

// String names the type as error messages do.
func (t *columnType) String() string {
	if t.isScalar() {
		return string(t.key.kind)
	}
	elements, what := string(t.key.kind)+"s", "set"
	if t.isMap() {
		elements, what = string(t.key.kind)+"-"+string(t.value.kind)+" pairs", "map"
	}
	switch {
	case t.max == unlimited && t.min == 0:
		return fmt.Sprintf("%s of %s", what, elements)
	case t.max == unlimited:
		return fmt.Sprintf("%s of %d or more %s", what, t.min, elements)
	case t.min == 0:
		return fmt.Sprintf("%s of up to %d %s", what, t.max, elements)
	}
	return fmt.Sprintf("%s of %d to %d %s", what, t.min, t.max, elements)
}

func (c clause) holds(r *row) bool {
	if c.constant != nil {
		return *c.constant
	}
	d := r.get(c.column)
	switch c.function {
	case "==":
		return d.equal(c.value)
	case "!=":
		return !d.equal(c.value)
	case "includes":
		return d.includes(c.value)
	case "excludes":
		return d.excludes(c.value)
	}
	if len(d.keys) == 0 { // an empty optional is neither less nor greater
		return false
	}
	n := compareAtoms(d.keys[0], c.value.keys[0])
	switch c.function {
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	default:
		return n >= 0
	}
}

// allHold is a transaction's "where": every clause must hold.
func allHold(clauses []clause, r *row) bool {
	for _, c := range clauses {
		if !c.holds(r) {
			return false
		}
	}
	return true
}

// anyHolds is a monitor's "where": one clause must hold, no clause is true.
func anyHolds(clauses []clause, r *row) bool {
	for _, c := range clauses {
		if c.holds(r) {
			return true
		}
	}
	return len(clauses) == 0
}
