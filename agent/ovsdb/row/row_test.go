package row

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func set(atoms ...any) libovsdb.OvsSet { return libovsdb.OvsSet{GoSet: atoms} }

func TestSingleValues(t *testing.T) {
	uuid := libovsdb.UUID{GoUUID: "u1"}
	r := libovsdb.Row{
		"s": "x", "b": true, "n": 7, "u": uuid,
		"opt s": set("x"), "opt b": set(true), "opt n": set(7), "opt u": set(uuid),
		"none": set(), "two": set("x", "y"), "real": 1.5, "nil": nil,
	}
	type values struct {
		S    string
		B, N bool
		I    int
		U    string
	}
	for column, want := range map[string]values{
		"s": {S: "x"}, "opt s": {S: "x"}, "b": {B: true}, "opt b": {B: true},
		"n": {I: 7, N: true}, "opt n": {I: 7, N: true}, "u": {U: "u1"}, "opt u": {U: "u1"},
		"none": {}, "two": {}, "real": {}, "nil": {}, "absent": {},
	} {
		_, set := OptInt(r, column)
		got := values{String(r, column), Bool(r, column), set, Int(r, column), UUID(r, column)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", column, got, want)
		}
	}
}

func TestUnsetIsNotFalse(t *testing.T) {
	r := libovsdb.Row{"false": set(false), "zero": set(0), "unset": set()}
	if v, ok := OptBool(r, "false"); v || !ok {
		t.Error("false is set")
	}
	if v, ok := OptInt(r, "zero"); v != 0 || !ok {
		t.Error("zero is set")
	}
	if _, ok := OptBool(r, "unset"); ok {
		t.Error("unset is not set")
	}
	if _, ok := OptInt(nil, "unset"); ok {
		t.Error("nor is it in no row")
	}
}

func TestSetsAndMaps(t *testing.T) {
	r := libovsdb.Row{
		"strs": set("b", "a", 7), "one": "x", "refs": set(libovsdb.UUID{GoUUID: "u2"}, libovsdb.UUID{GoUUID: "u1"}),
		"map": libovsdb.OvsMap{GoMap: map[any]any{"k": "v", 1: libovsdb.UUID{GoUUID: "u"}, "b": true}},
	}
	for column, want := range map[string][]string{"strs": {"a", "b"}, "one": {"x"}, "refs": nil, "absent": nil, "map": nil} {
		if diff := cmp.Diff(want, Strings(r, column)); diff != "" {
			t.Errorf("Strings of %s: %s", column, diff)
		}
	}
	if diff := cmp.Diff([]string{"u1", "u2"}, UUIDs(r, "refs")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"k": "v", "1": "u", "b": "true"}, Map(r, "map")); diff != "" {
		t.Error(diff)
	}
	if m := Map(r, "strs"); m == nil || len(m) != 0 {
		t.Errorf("a set as a map: %v", m)
	}
}
