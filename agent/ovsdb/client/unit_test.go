package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func TestPulse(t *testing.T) {
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	p := &pulse{probe: 10 * time.Second}
	for _, step := range []struct {
		now, heard int
		verdict    verdict
		wait       int
	}{
		{0, 0, alive, 10}, {9, 4, alive, 5}, {14, 4, ask, 10}, {20, 4, alive, 4},
		{21, 20, alive, 9},                   // answered
		{30, 20, ask, 10}, {40, 20, dead, 0}, // not answered
		{40, 39, alive, 9},
		{300, 39, ask, 10}, // judged late, as after a long delivery: asked first
		{310, 39, dead, 0},
	} {
		verdict, wait := p.judge(at(step.now), at(step.heard))
		if verdict != step.verdict || wait != time.Duration(step.wait)*time.Second {
			t.Errorf("at %d, heard %d: %v, %s", step.now, step.heard, verdict, wait)
		}
	}
}

func TestBackoff(t *testing.T) {
	b := &backoff{minimum: 100, maximum: 300, endpoints: 2}
	within := func(what string, got, bound time.Duration) {
		t.Helper()
		if got > bound || got < bound/2 {
			t.Errorf("%s: %d, want up to %d", what, got, bound)
		}
	}
	for round, bound := range []time.Duration{100, 200, 300, 300} {
		within("first endpoint", b.failed(), 0)
		within("round "+string(rune('1'+round)), b.failed(), bound)
	}
	within("lost", b.lost(), 100)
	within("first endpoint", b.failed(), 0)
	within("round after a download", b.failed(), 100)
}

func TestRepeats(t *testing.T) {
	var r repeats
	start := time.Now()
	for _, step := range []struct {
		text    string
		seconds int
		due     bool
	}{{"a", 0, true}, {"a", 1, false}, {"b", 2, true}, {"a", 59, false}, {"a", 60, true}, {"a", 119, false}} {
		if got := r.due(step.text, start.Add(time.Duration(step.seconds)*time.Second)); got != step.due {
			t.Errorf("%s at %d s: %t", step.text, step.seconds, got)
		}
	}
	r.forget()
	if !r.due("a", start) {
		t.Error("not news after forget")
	}
}

func TestMalformedSchema(t *testing.T) {
	column := func(typ string) string { return `{"tables":{"T":{"columns":{"c":{"type":` + typ + `}}}}}` }
	for _, s := range []string{
		`null`, `7`, `{}`, `{"tables":[]}`, `{"tables":{"T":7}}`,
		column(`null`), column(`"float"`), column(`{}`), column(`{"key":"x"}`), column(`{"key":{"type":[]}}`),
		column(`{"key":"string","value":7}`), column(`{"key":"string","max":"many"}`), column(`{"key":"string","min":"x"}`),
	} {
		if _, err := parseSchema([]byte(s)); err == nil || !strings.HasPrefix(err.Error(), "schema: ") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestValues(t *testing.T) {
	set := func(atoms ...any) libovsdb.OvsSet { return libovsdb.OvsSet{GoSet: append([]any{}, atoms...)} }
	uuid := libovsdb.UUID{GoUUID: "u"}
	for _, c := range []struct {
		typ, value string
		want       any // nil: an error
	}{
		{`"string"`, `"x"`, "x"}, {`"string"`, `["set",["x"]]`, "x"}, {`"string"`, `["set",[]]`, nil}, {`"string"`, `7`, nil},
		{`"integer"`, `9007199254740993`, 9007199254740993}, {`"integer"`, `1.5`, nil}, {`"integer"`, `9223372036854775808`, nil},
		{`"real"`, `1`, 1.0}, {`"real"`, `1e999`, nil}, {`"boolean"`, `true`, true}, {`"boolean"`, `null`, nil},
		{`"uuid"`, `["uuid","u"]`, uuid}, {`"uuid"`, `["uuid",7]`, nil}, {`"uuid"`, `["named-uuid","u"]`, nil}, {`"uuid"`, `[]`, nil},
		{`{"key":"string","min":0}`, `"x"`, set("x")}, {`{"key":"string","min":0}`, `["set",[]]`, set()},
		{`{"key":"integer","min":0,"max":9}`, `["set",[2,1]]`, set(1, 2)}, {`{"key":"integer","min":0,"max":9}`, `["set",7]`, nil},
		{`{"key":"uuid","min":0,"max":9}`, `["uuid","u"]`, set(uuid)}, {`{"key":"uuid","min":0,"max":9}`, `["map",[]]`, nil},
		{`{"key":"string","value":"integer"}`, `["map",[["k",1]]]`, libovsdb.OvsMap{GoMap: map[any]any{"k": 1}}},
		{`{"key":"string","value":"integer"}`, `["map",[["k"]]]`, nil}, {`{"key":"string","value":"integer"}`, `["map",["k"]]`, nil},
		{`{"key":"string","value":"integer"}`, `["map",[["k","v"]]]`, nil}, {`{"key":"string","value":"integer"}`, `["map",[[1,1]]]`, nil},
		{`{"key":"string","value":"integer"}`, `"x"`, nil},
	} {
		column, err := parseType([]byte(c.typ))
		if err != nil {
			t.Fatal(err)
		}
		wire, err := decodeAny([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := column.decode(wire)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s as %s: error %v", c.value, c.typ, err)
		}
		if err == nil && !cmp.Equal(got, c.want) {
			t.Errorf("%s as %s: %#v", c.value, c.typ, got)
		}
	}
}

func TestUnusableCondition(t *testing.T) {
	s := schema{"T": {"s": scalar(typeString), "n": {key: typeInteger, max: 1}}}
	for _, condition := range []libovsdb.Condition{
		libovsdb.NewCondition("absent", libovsdb.ConditionEqual, "x"),
		libovsdb.NewCondition("s", libovsdb.ConditionEqual, 7),
		libovsdb.NewCondition("s", libovsdb.ConditionEqual, make(chan int)),
		libovsdb.NewCondition("s", libovsdb.ConditionLessThan, "x"),
		libovsdb.NewCondition("n", libovsdb.ConditionLessThan, libovsdb.OvsSet{}),
		libovsdb.NewCondition("s", "~", "x"),
	} {
		if _, err := newMonitor("D", s, []Table{{Name: "T", Where: []libovsdb.Condition{condition}}}, nil); err == nil {
			t.Errorf("%v is accepted", condition)
		}
	}
}

// No update of a server, however odd, makes the replica panic.
func FuzzUpdates(f *testing.F) {
	known, err := parseSchema([]byte(everyType))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"Thing":{"u":{"insert":{"strs":["set",["a"]],"map":["map",[["k","v"]]]}}}}`,
		`{"Thing":{"u":{"modify":{"strs":"a","map":["map",[["k","v"]]],"one":["map",[]],"optn":["set",[]]}}}}`,
		`{"Thing":{"u":{"modify":{"strs":["set",[["uuid","x"]]]}}}}`, `{"Thing":{"u":{"delete":null}}}`,
		`{"Thing":{"u":{"old":{},"new":{}}}}`, `{"Thing":null}`, `[]`, `{"Thing":{"u":{"initial":null}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, updates []byte) {
		table := Table{Name: "Thing", Columns: []string{"name", "n", "optn", "strs", "refs", "map", "one"}}
		m, err := newMonitor("Everything", known, []Table{table}, func(Change) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := m.start([]byte(`{"Thing":{"u":{"initial":{"strs":["set",["a","b"]]}}}}`)); err != nil {
			t.Fatal(err)
		}
		_ = m.notify(updates) // an error is as good as none
	})
}

func TestInboxHandsOutEverythingBeforeItsEnd(t *testing.T) {
	b := newInbox()
	b.put(message{ID: []byte("1")})
	b.put(message{ID: []byte("2")})
	end := errors.New("end")
	b.close(end)
	b.close(errors.New("another end"))
	for _, id := range []string{"1", "2"} {
		if m, ok, err := b.take(); !ok || err != nil || string(m.ID) != id {
			t.Errorf("want %s: %s, %t, %v", id, m.ID, ok, err)
		}
	}
	if _, ok, err := b.take(); ok || err != end {
		t.Errorf("at the end: %t, %v", ok, err)
	}
}
