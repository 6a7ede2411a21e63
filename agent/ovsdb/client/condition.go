package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// clause is a <condition> of RFC 7047, section 5.1, with its value as rows hold
// it.
type clause struct {
	column   string
	function libovsdb.ConditionFunction
	value    any
}

func newClause(condition libovsdb.Condition, c column) (clause, error) {
	raw, err := json.Marshal(condition.Value)
	if err != nil {
		return clause{}, fmt.Errorf("condition on %s: %w", condition.Column, err)
	}
	wire, err := decodeAny(raw)
	if err != nil {
		return clause{}, fmt.Errorf("condition on %s: %w", condition.Column, err)
	}
	value, err := c.decode(wire)
	if err != nil {
		return clause{}, fmt.Errorf("condition on %s: %w", condition.Column, err)
	}
	switch condition.Function {
	case libovsdb.ConditionEqual, libovsdb.ConditionNotEqual, libovsdb.ConditionIncludes, libovsdb.ConditionExcludes:
	case libovsdb.ConditionLessThan, libovsdb.ConditionLessThanOrEqual,
		libovsdb.ConditionGreaterThan, libovsdb.ConditionGreaterThanOrEqual:
		if c.isMap() || c.max != 1 || c.key != typeInteger && c.key != typeReal || len(elements(value)) != 1 {
			return clause{}, fmt.Errorf("condition on %s: %s compares single numbers only", condition.Column, condition.Function)
		}
	default:
		return clause{}, fmt.Errorf("condition on %s: no such function: %q", condition.Column, condition.Function)
	}
	return clause{condition.Column, condition.Function, value}, nil
}

// matches evaluates the clause for a row, as the server does where it knows
// monitor_cond.
func (c clause) matches(row libovsdb.Row) bool {
	have, want := elements(row[c.column]), elements(c.value)
	switch c.function {
	case libovsdb.ConditionEqual:
		return len(have) == len(want) && containsAll(have, want)
	case libovsdb.ConditionNotEqual:
		return len(have) != len(want) || !containsAll(have, want)
	case libovsdb.ConditionIncludes:
		return containsAll(have, want)
	case libovsdb.ConditionExcludes:
		return !slices.ContainsFunc(want, func(e any) bool { return slices.Contains(have, e) })
	}
	// An unset optional number is in no order (ovsdb-server(7), section 5.1).
	if len(have) != 1 {
		return false
	}
	order := compareAtoms(have[0], want[0])
	switch c.function {
	case libovsdb.ConditionLessThan:
		return order < 0
	case libovsdb.ConditionLessThanOrEqual:
		return order <= 0
	case libovsdb.ConditionGreaterThan:
		return order > 0
	default:
		return order >= 0
	}
}

// pair is an element of a map.
type pair struct{ key, value any }

// elements are what a value consists of: a map's pairs, a set's atoms, or the
// atom itself.
func elements(value any) []any {
	switch v := value.(type) {
	case libovsdb.OvsSet:
		return v.GoSet
	case libovsdb.OvsMap:
		pairs := make([]any, 0, len(v.GoMap))
		for key, value := range v.GoMap {
			pairs = append(pairs, pair{key, value})
		}
		return pairs
	}
	return []any{value}
}

func containsAll(have, want []any) bool {
	return !slices.ContainsFunc(want, func(e any) bool { return !slices.Contains(have, e) })
}

// decodeAny decodes JSON with its numbers kept exact.
func decodeAny(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}
