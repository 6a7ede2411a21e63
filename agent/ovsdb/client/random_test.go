package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The replica built from changes equals the database after any transactions, and
// so does a fresh download.
func TestReplicaEqualsTheDatabase(t *testing.T) {
	s := newEverythingServer(t)
	u := s.user("Everything")
	known, err := parseSchema([]byte(everyType))
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Database: "Everything", Endpoints: []string{s.remote}}
	for table, columns := range known {
		request := Table{Name: table}
		for name := range columns {
			request.Columns = append(request.Columns, name)
		}
		config.Tables = append(config.Tables, request)
	}
	r := record(t, config)
	r.awaitConnected(1)
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 8).Draw(rt, "transactions") {
			before := r.count()
			operations := drawTransaction(rt)
			if _, err := u.try(operations...); err != nil {
				rt.Fatalf("%v: %v", operations, err)
			}
			r.barrier()
			if n := r.count() - before; n > 1 {
				rt.Fatalf("%v: %d changes", operations, n)
			}
		}
		compare(rt, "replica", u, known, r.rows())
	})
	fresh := record(t, config)
	fresh.awaitConnected(1)
	compare(t, "fresh download", u, known, fresh.rows())
}

func compare(t rapid.TB, what string, u *user, known schema, got tables) {
	t.Helper()
	for table := range known {
		if diff := cmp.Diff(u.selectAll(table, known), got[table]); diff != "" {
			t.Fatalf("%s of %s, database against it:\n%s", what, table, diff)
		}
	}
}

// drawTransaction draws operations that every state of the database allows.
func drawTransaction(t *rapid.T) []string {
	var operations []string
	for i := range rapid.IntRange(1, 4).Draw(t, "operations") {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
		where := fmt.Sprintf(`[["name","==",%q]]`, name)
		switch rapid.IntRange(0, 9).Draw(t, "operation") {
		case 0, 1:
			operations = append(operations, fmt.Sprintf(`{"op":"insert","table":"Thing","row":%s}`, drawRow(t, name)))
		case 2, 3, 4, 5:
			operations = append(operations, fmt.Sprintf(`{"op":"update","table":"Thing","where":%s,"row":%s}`, where, drawRow(t, name)))
		case 6, 7:
			operations = append(operations, fmt.Sprintf(`{"op":"mutate","table":"Thing","where":%s,"mutations":[%s]}`, where, drawMutation(t)))
		case 8: // an Other that the Things of that name refer to
			operations = append(operations,
				fmt.Sprintf(`{"op":"insert","table":"Other","uuid-name":"o%d","row":{"name":%q}}`, i, name),
				fmt.Sprintf(`{"op":"mutate","table":"Thing","where":%s,"mutations":[["refs","insert",["named-uuid","o%d"]]]}`, where, i))
		case 9:
			table := rapid.SampledFrom([]string{"Thing", "Other"}).Draw(t, "table")
			operations = append(operations, fmt.Sprintf(`{"op":"delete","table":%q,"where":%s}`, table, where))
		}
	}
	return operations
}

func drawMutation(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		`["n","%=",5]`, `["strs","insert","s0"]`, `["strs","delete",["set",["s0","s1"]]]`, `["ints","insert",["set",[1,2]]]`,
		`["map","insert",["map",[["s1","new"]]]]`, `["map","delete",["set",["s0","s1"]]]`, `["nums","delete",["map",[[1,1]]]]`,
	}).Draw(t, "mutation")
}

// drawRow draws values for some columns.
func drawRow(t *rapid.T, name string) string {
	str := rapid.SampledFrom([]string{`"s0"`, `"s1"`, `"s2"`, `""`, `"ü\n\""`})
	num := rapid.SampledFrom([]string{"-3", "0", "1", "2", "7"})
	big := rapid.SampledFrom([]string{"0", "1", "9007199254740993", "-9223372036854775808", "9223372036854775807"})
	float := rapid.SampledFrom([]string{"0.0", "1.5", "-2.25", "1e+100"})
	boolean := rapid.SampledFrom([]string{"true", "false"})
	columns := map[string]func() string{
		"n": func() string { return big.Draw(t, "n") }, "r": func() string { return float.Draw(t, "r") },
		"b":    func() string { return boolean.Draw(t, "b") },
		"e":    func() string { return rapid.SampledFrom([]string{`""`, `"red"`, `"green"`}).Draw(t, "e") },
		"opts": func() string { return drawSet(t, str, 0, 1) }, "optn": func() string { return drawSet(t, num, 0, 1) },
		"optb": func() string { return drawSet(t, boolean, 0, 1) }, "strs": func() string { return drawSet(t, str, 0, 5) },
		"ints": func() string { return drawSet(t, big, 0, 5) }, "reals": func() string { return drawSet(t, float, 0, 3) },
		"two": func() string { return drawSet(t, num, 1, 2) }, "map": func() string { return drawMap(t, str, str, 4) },
		"nums": func() string { return drawMap(t, num, num, 4) }, "one": func() string { return drawMap(t, str, boolean, 1) },
	}
	values := []string{fmt.Sprintf(`"name":%q`, name)}
	for _, column := range []string{"n", "r", "b", "e", "opts", "optn", "optb", "strs", "ints", "reals", "two", "map", "nums", "one"} {
		if rapid.Bool().Draw(t, "set "+column) {
			values = append(values, fmt.Sprintf("%q:%s", column, columns[column]()))
		}
	}
	return "{" + strings.Join(values, ",") + "}"
}

func drawSet(t *rapid.T, atom *rapid.Generator[string], least, most int) string {
	atoms := rapid.SliceOfNDistinct(atom, least, most, rapid.ID[string]).Draw(t, "set")
	return `["set",[` + strings.Join(atoms, ",") + `]]`
}

func drawMap(t *rapid.T, key, value *rapid.Generator[string], most int) string {
	var pairs []string
	for _, k := range rapid.SliceOfNDistinct(key, 0, most, rapid.ID[string]).Draw(t, "keys") {
		pairs = append(pairs, fmt.Sprintf("[%s,%s]", k, value.Draw(t, "value")))
	}
	return `["map",[` + strings.Join(pairs, ",") + `]]`
}
