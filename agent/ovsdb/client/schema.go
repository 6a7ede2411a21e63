package client

import (
	"encoding/json"
	"fmt"
	"math"
)

// The <atomic-type>s of RFC 7047, section 3.2.
const (
	typeInteger = "integer"
	typeReal    = "real"
	typeBoolean = "boolean"
	typeString  = "string"
	typeUUID    = "uuid"
)

// column is a column's <type> of RFC 7047, section 3.2.
type column struct {
	key   string // atomic type
	value string // atomic type of a map's values; empty if this is no map
	min   int
	max   int // math.MaxInt is "unlimited"
}

func (c column) isMap() bool    { return c.value != "" }
func (c column) isScalar() bool { return !c.isMap() && c.min == 1 && c.max == 1 }

// schema is a database's tables and their columns.
type schema map[string]map[string]column

// column finds a column, including the two that every table has without its
// schema saying so (RFC 7047, section 3.2).
func (s schema) column(table, name string) (column, bool) {
	if name == "_uuid" || name == "_version" {
		return scalar(typeUUID), true
	}
	c, ok := s[table][name]
	return c, ok
}

func scalar(atomic string) column { return column{key: atomic, min: 1, max: 1} }

// parseSchema reads a <database-schema>, as get_schema answers it.
func parseSchema(raw json.RawMessage) (schema, error) {
	var wire struct {
		Tables map[string]struct {
			Columns map[string]struct {
				Type json.RawMessage `json:"type"`
			} `json:"columns"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if wire.Tables == nil {
		return nil, fmt.Errorf("schema: it has no tables")
	}
	tables := schema{}
	for table, t := range wire.Tables {
		tables[table] = map[string]column{}
		for name, c := range t.Columns {
			parsed, err := parseType(c.Type)
			if err != nil {
				return nil, fmt.Errorf("schema: %s.%s: %w", table, name, err)
			}
			tables[table][name] = parsed
		}
	}
	return tables, nil
}

func parseType(raw json.RawMessage) (column, error) {
	if atomic, err := parseBaseType(raw); err == nil {
		return scalar(atomic), nil
	}
	var wire struct {
		Key   json.RawMessage `json:"key"`
		Value json.RawMessage `json:"value"`
		Min   *int            `json:"min"`
		Max   json.RawMessage `json:"max"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return column{}, fmt.Errorf("type: %w", err)
	}
	c := column{min: 1, max: 1}
	var err error
	if c.key, err = parseBaseType(wire.Key); err != nil {
		return column{}, fmt.Errorf("key: %w", err)
	}
	if wire.Value != nil {
		if c.value, err = parseBaseType(wire.Value); err != nil {
			return column{}, fmt.Errorf("value: %w", err)
		}
	}
	if wire.Min != nil {
		c.min = *wire.Min
	}
	switch {
	case wire.Max == nil:
	case string(wire.Max) == `"unlimited"`:
		c.max = math.MaxInt
	default:
		if err := json.Unmarshal(wire.Max, &c.max); err != nil {
			return column{}, fmt.Errorf("max: %w", err)
		}
	}
	return c, nil
}

// parseBaseType reads a <base-type>: an atomic type's name, or an object that has
// it as its type.
func parseBaseType(raw json.RawMessage) (string, error) {
	var atomic string
	if json.Unmarshal(raw, &atomic) != nil {
		var wire struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &wire); err != nil {
			return "", fmt.Errorf("base type: %w", err)
		}
		atomic = wire.Type
	}
	switch atomic {
	case typeInteger, typeReal, typeBoolean, typeString, typeUUID:
		return atomic, nil
	}
	return "", fmt.Errorf("no atomic type: %q", atomic)
}
