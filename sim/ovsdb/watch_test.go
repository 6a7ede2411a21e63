package ovsdb

import (
	"testing"
)

func TestWatcherSeesTransactionsInOrder(t *testing.T) {
	for _, kind := range []string{"memory", "real"} {
		t.Run(kind, func(t *testing.T) {
			ctx := testContext(t)
			var s Server
			if kind == "memory" {
				s = startMemory(t, builtin(t, "OVN_Northbound"))
			} else {
				s = startReal(t, builtin(t, "OVN_Northbound"))
			}
			addPort(ctx, t, s, "before", Row{})
			w, err := Watch(ctx, s.Endpoint(), "OVN_Northbound", map[string][]string{"Logical_Switch_Port": {"name", "up"}, "Logical_Switch": nil})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			addPort(ctx, t, s, "p", Row{})
			if _, err := s.Transact(ctx, Update("Logical_Switch_Port", Row{"up": true}, Is("name", "p"))); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Transact(ctx, Delete("Logical_Switch", Is("name", "sw-p"))); err != nil {
				t.Fatal(err)
			}
			got, err := w.Updates(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 3 || len(got[0]) != 2 || len(got[1]) != 1 || len(got[2]) != 2 {
				t.Fatalf("got %+v", got)
			}
			up := got[1][0]
			if got[0][1].Old != nil || got[0][1].New["name"] != "p" || len(up.Old) != 1 || up.New["up"] != true || got[2][0].New != nil {
				t.Errorf("got %+v", got)
			}
			if _, err := Watch(ctx, s.Endpoint(), "OVN_Northbound", map[string][]string{"Nope": nil}); err == nil {
				t.Error("an unknown table is watched")
			}
		})
	}
}
