package ovsdb

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed schemas/*
var builtinSchemas embed.FS

// BuiltinSchema is a schema that comes with this package: OVN_Northbound and
// OVN_Southbound of the OVN releases 23.03 to 25.09, and Open_vSwitch. release
// names an OVN release such as "23.09"; the last one not newer is taken, and
// without it the newest. It fails for another database and for a release older
// than the first.
func BuiltinSchema(name string, release ...string) (Schema, error) {
	text, err := builtinSchemas.ReadFile("schemas/" + strings.ToLower(name) + ".txt")
	if err != nil {
		return Schema{}, fmt.Errorf("no built-in schema %q", name)
	}
	s, err := parseNotation(string(text), strings.Join(release, ""))
	if err != nil {
		return Schema{}, fmt.Errorf("built-in schema %s: %w", name, err)
	}
	return s, nil
}

// serverSchema is the schema of the _Server database (ovsdb-server(5)).
func serverSchema() (Schema, error) {
	text, err := builtinSchemas.ReadFile("schemas/_server.txt")
	if err != nil {
		return Schema{}, err
	}
	return parseNotation(string(text), "")
}
