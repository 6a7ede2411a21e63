// Package ovsdb holds the rows that the agent reads, typed, with the indexes
// that the drivers look up, in the state of the last applied change.
//
// A [Store] takes whole changes: everything one OVSDB transaction did, or one
// complete download. It is read through a [View], which notes each row and each
// index entry that was looked at, misses included. [Store.Apply] returns the same
// kind of notes for what a change touched; so whoever keeps the notes of a
// computation knows exactly which changes concern it.
package ovsdb

import (
	"reflect"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/client"
)

// Names of the databases, as their schemas have them.
const (
	Northbound  = "OVN_Northbound"
	Southbound  = "OVN_Southbound"
	OpenVSwitch = "Open_vSwitch"
)

// Table describes one table: which columns are monitored, how a row is typed and
// which indexes it has. Tables are the package's variables.
type Table[T any] struct {
	database string
	name     string
	columns  []string
	optional bool
	decode   func(uuid string, row libovsdb.Row) *T
	indexes  []Index[T]
}

// Index is a lookup of a table's rows by some value of theirs.
type Index[T any] struct {
	name string
	keys func(*T) []string
}

// table is what a Store needs of a Table, whatever its row type.
type table interface {
	tableName() string
	databaseName() string
	request() client.Table
	typed(uuid string, row libovsdb.Row) any
	entries(row any) []Dep
}

func (t *Table[T]) tableName() string    { return t.name }
func (t *Table[T]) databaseName() string { return t.database }

func (t *Table[T]) request() client.Table {
	return client.Table{Name: t.name, Columns: t.columns, Optional: t.optional}
}

func (t *Table[T]) typed(uuid string, row libovsdb.Row) any { return t.decode(uuid, row) }

// entries are the index entries under which a row is found.
func (t *Table[T]) entries(row any) []Dep {
	var deps []Dep
	for _, index := range t.indexes {
		for _, key := range index.keys(row.(*T)) {
			deps = append(deps, Dep{t.name, index.name, key})
		}
	}
	return deps
}

// Dep names one thing that can be read: a row by its UUID (Index empty), or all
// rows of a table that an index has under a value.
type Dep struct{ Table, Index, Value string }

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
