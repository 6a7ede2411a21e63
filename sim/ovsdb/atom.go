package ovsdb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// atom is one OVSDB atomic value: int64, float64, bool, string or uuidAtom.
// All are comparable, so atoms are map keys.
type atom any

// uuidAtom is a row's UUID in its canonical lower-case form.
type uuidAtom string

const zeroUUID = uuidAtom("00000000-0000-0000-0000-000000000000")

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// atomKind names an atomic type as in a schema (RFC 7047 section 3.1).
type atomKind string

const (
	kindInteger atomKind = "integer"
	kindReal    atomKind = "real"
	kindBoolean atomKind = "boolean"
	kindString  atomKind = "string"
	kindUUID    atomKind = "uuid"
)

func (k atomKind) valid() bool {
	switch k {
	case kindInteger, kindReal, kindBoolean, kindString, kindUUID:
		return true
	}
	return false
}

func (k atomKind) zero() atom {
	switch k {
	case kindInteger:
		return int64(0)
	case kindReal:
		return float64(0)
	case kindBoolean:
		return false
	case kindUUID:
		return zeroUUID
	default:
		return ""
	}
}

// compareAtoms orders two atoms of the same kind.
func compareAtoms(a, b atom) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case bool:
		y := b.(bool)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	case uuidAtom:
		return strings.Compare(string(x), string(b.(uuidAtom)))
	default:
		return strings.Compare(a.(string), b.(string))
	}
}

// symbols resolves the "named-uuid" values of one transaction. A name used
// before the insert that creates it gets its UUID at first use.
type symbols map[string]*symbol

type symbol struct {
	uuid    uuidAtom
	created bool
}

func (s symbols) get(name string) *symbol {
	if sym, ok := s[name]; ok {
		return sym
	}
	sym := &symbol{uuid: newUUID()}
	s[name] = sym
	return sym
}

// parseAtom reads an atom of kind k from its JSON form (RFC 7047 section 5.1).
func parseAtom(k atomKind, v any, syms symbols) (atom, *dbError) {
	switch k {
	case kindInteger:
		if n, ok := integerOf(v); ok {
			return n, nil
		}
	case kindReal:
		if n, ok := v.(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				return f + 0, nil
			}
		}
	case kindBoolean:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case kindString:
		if s, ok := v.(string); ok {
			return s, nil
		}
	case kindUUID:
		return parseUUID(v, syms)
	}
	return nil, syntaxError(v, "expected %s", k)
}

func integerOf(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func parseUUID(v any, syms symbols) (atom, *dbError) {
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return nil, syntaxError(v, "expected [\"uuid\", <string>]")
	}
	class, _ := pair[0].(string)
	text, isText := pair[1].(string)
	switch {
	case class == "uuid" && isText:
		if !uuidForm.MatchString(text) {
			return nil, syntaxError(v, "\"%s\" is not a valid UUID", text)
		}
		return uuidAtom(strings.ToLower(text)), nil
	case class == "named-uuid" && isText && syms != nil:
		return syms.get(text).uuid, nil
	}
	return nil, syntaxError(v, "expected [\"uuid\", <string>]")
}

// atomJSON is the JSON form of an atom.
func atomJSON(a atom) any {
	if u, ok := a.(uuidAtom); ok {
		return []any{"uuid", string(u)}
	}
	return a
}

// check tests an atom against the constraints of its base type.
func (b *baseType) check(a atom) *dbError {
	if len(b.enum) > 0 {
		return b.checkEnum(a)
	}
	switch v := a.(type) {
	case int64:
		if v < b.minInt || v > b.maxInt {
			return constraint("%d is not in the valid range %d to %d (inclusive)", v, b.minInt, b.maxInt)
		}
	case float64:
		if v < b.minReal || v > b.maxReal {
			return constraint("%g is not in the valid range %g to %g (inclusive)", v, b.minReal, b.maxReal)
		}
	case string:
		n := utf8.RuneCountInString(v)
		if n < b.minLen || n > b.maxLen {
			return constraint("\"%s\" length %d is not in the valid range %d to %d", v, n, b.minLen, b.maxLen)
		}
	}
	return nil
}

func (b *baseType) checkEnum(a atom) *dbError {
	names := make([]string, 0, len(b.enum))
	for _, e := range b.enum {
		if e == a {
			return nil
		}
		names = append(names, fmt.Sprint(e))
	}
	return constraint("%v is not one of the allowed values ([%s])", a, strings.Join(names, ", "))
}
