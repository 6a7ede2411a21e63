package ovsdb

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// notation is a schema under construction, in the structure of an .ovsschema.
type notation struct {
	release string
	name    string
	version string
	tables  map[string]any
	columns map[string]any // of the table being read; nil to skip it
}

// parseNotation reads a schema in the line notation of the built-in files and
// keeps what existed in an OVN release ("" is the newest).
//
//	schema NAME VERSION [release=R]
//	table NAME [root] [max=ROWS] [index=COLUMN,COLUMN]… [since=R] [before=R]
//	  COLUMN TYPE [immutable] [ephemeral] [since=R] [before=R]
//
// TYPE is KEY or KEY:VALUE and a size: nothing for exactly one, ? for at most
// one, * for any number, + for at least one, [MIN..MAX] for others. KEY and
// VALUE are int, real, bool, string, uuid, with a range as in int(0..4095) or
// string(..63) or an enumeration as in string{tcp,udp}, or a reference:
// ->TABLE is a strong one, ~>TABLE a weak one.
func parseNotation(text, release string) (Schema, error) {
	n := &notation{release: release, tables: map[string]any{}}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := n.line(fields, strings.HasPrefix(line, " ")); err != nil {
			return Schema{}, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if n.name == "" {
		return Schema{}, fmt.Errorf("no schema as old as release %s", release)
	}
	out, err := json.Marshal(map[string]any{"name": n.name, "version": n.version, "tables": n.tables})
	if err != nil {
		return Schema{}, err
	}
	return ParseSchema(out)
}

func (n *notation) line(fields []string, indented bool) error {
	if len(fields) < 2 {
		return fmt.Errorf("%q: too few words", fields)
	}
	switch {
	case indented:
		return n.column(fields[0], fields[1], fields[2:])
	case fields[0] == "table":
		return n.table(fields[1], fields[2:])
	case fields[0] == "schema" && len(fields) >= 3:
		n.schema(fields[1], fields[2], fields[3:])
		return nil
	}
	return fmt.Errorf("unknown line %q", fields)
}

func (n *notation) schema(name, version string, options []string) {
	for _, o := range options {
		if r, ok := strings.CutPrefix(o, "release="); ok && n.release != "" && r > n.release {
			return
		}
	}
	n.name, n.version = name, version
}

// exists evaluates since= and before= and returns the other options. Releases
// compare as text: two digits, a dot, two digits.
func (n *notation) exists(options []string) (rest []string, ok bool) {
	ok = true
	for _, o := range options {
		if since, found := strings.CutPrefix(o, "since="); found {
			ok = ok && (n.release == "" || n.release >= since)
		} else if before, found := strings.CutPrefix(o, "before="); found {
			ok = ok && n.release != "" && n.release < before
		} else {
			rest = append(rest, o)
		}
	}
	return rest, ok
}

func (n *notation) table(name string, options []string) error {
	n.columns = nil
	options, ok := n.exists(options)
	if !ok {
		return nil
	}
	n.columns = map[string]any{}
	table := map[string]any{"columns": n.columns}
	var indexes [][]string
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "root":
			table["isRoot"] = true
		case "max":
			rows, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			table["maxRows"] = rows
		case "index":
			indexes = append(indexes, strings.Split(value, ","))
		default:
			return fmt.Errorf("table %s: unknown option %q", name, o)
		}
	}
	if indexes != nil {
		table["indexes"] = indexes
	}
	n.tables[name] = table
	return nil
}

func (n *notation) column(name, typ string, options []string) error {
	options, ok := n.exists(options)
	if !ok || n.columns == nil {
		return nil
	}
	t, err := notationType(typ)
	if err != nil {
		return fmt.Errorf("column %s: %w", name, err)
	}
	column := map[string]any{"type": t}
	for _, o := range options {
		switch o {
		case "immutable":
			column["mutable"] = false
		case "ephemeral":
			column["ephemeral"] = true
		default:
			return fmt.Errorf("column %s: unknown option %q", name, o)
		}
	}
	n.columns[name] = column
	return nil
}

var (
	typeForm = regexp.MustCompile(`^([^:?*+\[]+)(?::([^?*+\[]+))?([?*+]|\[\d+\.\.\d+\])?$`)
	baseForm = regexp.MustCompile(`^(int|real|bool|string|uuid)(?:\((-?[\d.]*?)\.\.(-?[\d.]*)\)|\{(.*)\})?$`)
)

func notationType(text string) (map[string]any, error) {
	m := typeForm.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("type %q", text)
	}
	key, err := notationBase(m[1])
	if err != nil {
		return nil, err
	}
	t := map[string]any{"key": key}
	if m[2] != "" {
		if t["value"], err = notationBase(m[2]); err != nil {
			return nil, err
		}
	}
	switch size := m[3]; size {
	case "":
	case "?":
		t["min"], t["max"] = 0, 1
	case "*":
		t["min"], t["max"] = 0, "unlimited"
	case "+":
		t["min"], t["max"] = 1, "unlimited"
	default:
		low, high, _ := strings.Cut(strings.Trim(size, "[]"), "..")
		t["min"], t["max"] = json.Number(low), json.Number(high)
	}
	return t, nil
}

func notationBase(text string) (map[string]any, error) {
	if table, ok := strings.CutPrefix(text, "->"); ok {
		return map[string]any{"type": "uuid", "refTable": table, "refType": "strong"}, nil
	}
	if table, ok := strings.CutPrefix(text, "~>"); ok {
		return map[string]any{"type": "uuid", "refTable": table, "refType": "weak"}, nil
	}
	m := baseForm.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("base type %q", text)
	}
	names := map[string][2]string{"int": {"integer", "Integer"}, "real": {"real", "Real"}, "bool": {"boolean", ""}, "string": {"string", "Length"}, "uuid": {"uuid", ""}}
	b := map[string]any{"type": names[m[1]][0]}
	if m[2] != "" {
		b["min"+names[m[1]][1]] = json.Number(m[2])
	}
	if m[3] != "" {
		b["max"+names[m[1]][1]] = json.Number(m[3])
	}
	if m[4] != "" {
		members := strings.Split(m[4], ",")
		enum := make([]any, len(members))
		for i, s := range members {
			enum[i] = s
			if m[1] == "int" {
				enum[i] = json.Number(s)
			}
		}
		b["enum"] = []any{"set", enum}
	}
	return b, nil
}
