package ovsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

// unlimited is the size limit of a set or map without one.
const unlimited = math.MaxInt

// Schema is a database schema (RFC 7047 section 3.2). The zero value is not
// usable: take one from BuiltinSchema, LoadSchema or ParseSchema.
type Schema struct {
	name    string
	version string
	text    json.RawMessage
	tables  map[string]*tableSchema
}

type tableSchema struct {
	name    string
	columns map[string]*columnSchema
	names   []string // column names, sorted
	root    bool
	maxRows int
	indexes [][]string
}

type columnSchema struct {
	name      string
	typ       *columnType
	mutable   bool
	ephemeral bool
}

type columnType struct {
	key      *baseType
	value    *baseType
	min, max int
}

type baseType struct {
	kind             atomKind
	enum             []atom
	minInt, maxInt   int64
	minReal, maxReal float64
	minLen, maxLen   int
	refTable         string
	weak             bool
}

// Name is the database's name, for example OVN_Northbound.
func (s Schema) Name() string { return s.name }

// Version is the schema's version, for example 7.1.0.
func (s Schema) Version() string { return s.version }

// JSON is the schema in the form of an .ovsschema file.
func (s Schema) JSON() []byte { return s.text }

// HasColumn tells whether the table exists and has the column.
func (s Schema) HasColumn(table, column string) bool {
	t, ok := s.tables[table]
	return ok && t.columns[column] != nil
}

// Tables are the table names, sorted.
func (s Schema) Tables() []string {
	names := make([]string, 0, len(s.tables))
	for name := range s.tables {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Columns are the column names of a table, sorted, without _uuid and
// _version; nil if the table does not exist.
func (s Schema) Columns(table string) []string {
	if t, ok := s.tables[table]; ok {
		return slices.Clone(t.names)
	}
	return nil
}

// LoadSchema reads an .ovsschema file.
func LoadSchema(path string) (Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Schema{}, fmt.Errorf("load schema: %w", err)
	}
	s, err := ParseSchema(text)
	if err != nil {
		return Schema{}, fmt.Errorf("load schema %s: %w", path, err)
	}
	return s, nil
}

// ParseSchema reads a <database-schema> (RFC 7047 section 3.2).
func ParseSchema(text []byte) (Schema, error) {
	var in struct {
		Name    string                     `json:"name"`
		Version string                     `json:"version"`
		Tables  map[string]json.RawMessage `json:"tables"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return Schema{}, fmt.Errorf("schema: %w", err)
	}
	if in.Name == "" || len(in.Tables) == 0 {
		return Schema{}, errors.New("schema: no name or no tables")
	}
	compact := &bytes.Buffer{}
	if err := json.Compact(compact, text); err != nil {
		return Schema{}, fmt.Errorf("schema %s: %w", in.Name, err)
	}
	s := Schema{name: in.Name, version: in.Version, text: compact.Bytes(), tables: map[string]*tableSchema{}}
	for name, raw := range in.Tables {
		t, err := parseTable(name, raw)
		if err != nil {
			return Schema{}, fmt.Errorf("schema %s: table %s: %w", in.Name, name, err)
		}
		s.tables[name] = t
	}
	s.markRoots()
	return s, s.checkReferences()
}

// markRoots makes every table a root when none is declared one (RFC 7047
// section 3.2).
func (s Schema) markRoots() {
	for _, t := range s.tables {
		if t.root {
			return
		}
	}
	for _, t := range s.tables {
		t.root = true
	}
}

func (s Schema) checkReferences() error {
	for _, t := range s.tables {
		for _, c := range t.columns {
			for _, b := range []*baseType{c.typ.key, c.typ.value} {
				if b != nil && b.refTable != "" && s.tables[b.refTable] == nil {
					return fmt.Errorf("schema %s: %s.%s refers to unknown table %s", s.name, t.name, c.name, b.refTable)
				}
			}
		}
	}
	return nil
}

func parseTable(name string, raw json.RawMessage) (*tableSchema, error) {
	var in struct {
		Columns map[string]json.RawMessage `json:"columns"`
		IsRoot  bool                       `json:"isRoot"`
		MaxRows int                        `json:"maxRows"`
		Indexes [][]string                 `json:"indexes"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	t := &tableSchema{name: name, columns: map[string]*columnSchema{}, root: in.IsRoot, maxRows: in.MaxRows, indexes: in.Indexes}
	if t.maxRows == 0 {
		t.maxRows = unlimited
	}
	for column, raw := range in.Columns {
		c, err := parseColumn(column, raw)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		t.columns[column] = c
		t.names = append(t.names, column)
	}
	slices.Sort(t.names)
	for _, index := range t.indexes {
		for _, column := range index {
			if t.columns[column] == nil {
				return nil, fmt.Errorf("index on unknown column %s", column)
			}
		}
	}
	return t, nil
}

func parseColumn(name string, raw json.RawMessage) (*columnSchema, error) {
	var in struct {
		Type      json.RawMessage `json:"type"`
		Mutable   *bool           `json:"mutable"`
		Ephemeral bool            `json:"ephemeral"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	typ, err := parseColumnType(in.Type)
	if err != nil {
		return nil, err
	}
	return &columnSchema{name: name, typ: typ, mutable: in.Mutable == nil || *in.Mutable, ephemeral: in.Ephemeral}, nil
}

func parseColumnType(raw json.RawMessage) (*columnType, error) {
	if len(raw) > 0 && raw[0] == '"' {
		key, err := parseBaseType(raw)
		return &columnType{key: key, min: 1, max: 1}, err
	}
	var in struct {
		Key   json.RawMessage `json:"key"`
		Value json.RawMessage `json:"value"`
		Min   *int            `json:"min"`
		Max   json.RawMessage `json:"max"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	t := &columnType{min: 1, max: 1}
	var err error
	if t.key, err = parseBaseType(in.Key); err != nil {
		return nil, err
	}
	if in.Value != nil {
		if t.value, err = parseBaseType(in.Value); err != nil {
			return nil, err
		}
	}
	if in.Min != nil {
		t.min = *in.Min
	}
	if string(in.Max) == `"unlimited"` {
		t.max = unlimited
	} else if in.Max != nil {
		if err := json.Unmarshal(in.Max, &t.max); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func parseBaseType(raw json.RawMessage) (*baseType, error) {
	in := struct {
		Type       atomKind `json:"type"`
		Enum       any      `json:"enum"`
		MinInteger int64    `json:"minInteger"`
		MaxInteger int64    `json:"maxInteger"`
		MinReal    float64  `json:"minReal"`
		MaxReal    float64  `json:"maxReal"`
		MinLength  int      `json:"minLength"`
		MaxLength  int      `json:"maxLength"`
		RefTable   string   `json:"refTable"`
		RefType    string   `json:"refType"`
	}{
		MinInteger: math.MinInt64, MaxInteger: math.MaxInt64,
		MinReal: -math.MaxFloat64, MaxReal: math.MaxFloat64,
		MaxLength: math.MaxInt,
	}
	if len(raw) > 0 && raw[0] == '"' {
		raw = fmt.Appendf(nil, `{"type":%s}`, raw)
	}
	if err := decodeNumbers(raw, &in); err != nil {
		return nil, err
	}
	if !in.Type.valid() {
		return nil, fmt.Errorf("unknown atomic type %q", in.Type)
	}
	b := &baseType{
		kind: in.Type, minInt: in.MinInteger, maxInt: in.MaxInteger,
		minReal: in.MinReal, maxReal: in.MaxReal, minLen: in.MinLength, maxLen: in.MaxLength,
		refTable: in.RefTable, weak: in.RefType == "weak",
	}
	return b, b.parseEnum(in.Enum)
}

func (b *baseType) parseEnum(v any) error {
	if v == nil {
		return nil
	}
	members, _, isList := listOf(v)
	if !isList {
		members = []any{v}
	}
	for _, m := range members {
		a, err := parseAtom(b.kind, m, nil)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		b.enum = append(b.enum, a)
	}
	slices.SortFunc(b.enum, compareAtoms)
	return nil
}

// decodeNumbers decodes JSON without rounding integers to float64.
func decodeNumbers(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}
