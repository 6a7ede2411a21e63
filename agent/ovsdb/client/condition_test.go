package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

func TestConditionSelectsRows(t *testing.T) {
	s := newServer(t, southboundSchema)
	u := s.user("OVN_Southbound")
	mine, other := u.insert("Chassis_Private", `{"name":"mine"}`), u.insert("Chassis_Private", `{"name":"other"}`)
	// Also with a condition on a column that is not delivered.
	for _, columns := range [][]string{{"name", "nb_cfg"}, {"nb_cfg"}} {
		r := record(t, Config{Database: "OVN_Southbound", Endpoints: []string{s.remote}, Tables: []Table{{
			Name: "Chassis_Private", Columns: columns,
			Where: []libovsdb.Condition{libovsdb.NewCondition("name", libovsdb.ConditionEqual, "mine")},
		}}})
		r.awaitConnected(1)
		check := func(what string, present ...string) {
			t.Helper()
			r.barrier()
			rows := r.rows()["Chassis_Private"]
			if len(rows) != len(present) || slices.ContainsFunc(present, func(u string) bool { return rows[u] == nil }) {
				t.Errorf("%s: %v", what, rows)
			}
		}
		check("initially", mine)
		u.update("Chassis_Private", mine, `{"name":"yours"}`)
		check("it no longer matches")
		u.transact(fmt.Sprintf(`{"op":"update","table":"Chassis_Private","where":[["_uuid","==",["uuid",%q]]],"row":{"name":"mine","nb_cfg":7}}`, other))
		check("another matches", other)
		if got := row.Int(r.row("Chassis_Private", other), "nb_cfg"); got != 7 {
			t.Errorf("nb_cfg of the row that came to match: %d", got)
		}
		u.update("Chassis_Private", other, `{"name":"other", "nb_cfg":0}`)
		u.update("Chassis_Private", mine, `{"name":"mine"}`)
		check("as before", mine)
		r.end()
	}
}

// Conditions evaluated here select what ovsdb-server's select does.
func TestConditionsAreTheServers(t *testing.T) {
	s := newEverythingServer(t)
	u := s.user("Everything")
	for _, r := range []string{
		`{"name":"a"}`,
		`{"name":"b","n":3,"r":1.5,"b":true,"optn":3,"opts":"x","strs":["set",["p","q"]],"map":["map",[["k","v"],["l","w"]]]}`,
		`{"name":"c","n":-1,"optn":-1,"strs":"p","map":["map",[["k","v"]]]}`,
		`{"name":"d","n":3,"strs":["set",["p","q","r"]],"map":["map",[["k","other"]]]}`,
	} {
		u.insert("Thing", r)
	}
	known, err := parseSchema([]byte(everyType))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{
		"name": {`"b"`, `"zz"`}, "n": {`0`, `3`}, "r": {`1.5`, `0.0`}, "b": {`true`},
		"opts": {`"x"`, `["set",[]]`}, "optn": {`-1`, `3`, `["set",[]]`},
		"strs": {`["set",[]]`, `"p"`, `["set",["q","p"]]`, `["set",["q","z"]]`},
		"map":  {`["map",[]]`, `["map",[["k","v"]]]`, `["map",[["l","w"],["k","v"]]]`, `["map",[["k","w"]]]`},
	}
	tried := 0
	for name, texts := range values {
		for _, function := range []string{"==", "!=", "includes", "excludes", "<", "<=", ">", ">="} {
			for _, text := range texts {
				if tryCondition(t, u, known, name, function, text) {
					tried++
				}
			}
		}
	}
	if tried < 70 {
		t.Errorf("only %d conditions were compared", tried)
	}
}

// tryCondition compares one condition; false if it is not a valid one.
func tryCondition(t *testing.T, u *user, known schema, name, function, text string) bool {
	t.Helper()
	c, err := newClause(libovsdb.NewCondition(name, libovsdb.ConditionFunction(function), json.RawMessage(text)), known["Thing"][name])
	results, refused := u.try(fmt.Sprintf(`{"op":"select","table":"Thing","where":[[%q,%q,%s]],"columns":["name"]}`, name, function, text))
	if (err != nil) != (refused != nil) {
		t.Errorf("%s %s %s: here %v, the server %v", name, function, text, err, refused)
	}
	if err != nil {
		return false
	}
	var want, got []string
	for _, r := range results[0]["rows"].([]any) {
		want = append(want, r.(map[string]any)["name"].(string))
	}
	for _, r := range u.selectAll("Thing", known) {
		if c.matches(r) {
			got = append(got, row.String(r, "name"))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s %s %s: here %v, the server %v", name, function, text, got, want)
	}
	return true
}

// selectAll is the content of a table, as rows of the client.
func (u *user) selectAll(table string, known schema) map[string]libovsdb.Row {
	u.t.Helper()
	result := u.transact(fmt.Sprintf(`{"op":"select","table":%q,"where":[]}`, table))
	t := &monitored{asked: known[table]}
	rows := map[string]libovsdb.Row{}
	for _, v := range result[0]["rows"].([]any) {
		r, err := t.decode(v)
		if err != nil {
			u.t.Fatal(err)
		}
		rows[v.(map[string]any)["_uuid"].([]any)[1].(string)] = r
	}
	return rows
}
