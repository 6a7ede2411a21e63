package ovsdb

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// often is a reconnect backoff that never grows and never gives up.
type often struct{}

func (often) NextBackOff() time.Duration { return 5 * time.Millisecond }
func (often) Reset()                     {}

type logicalSwitchPort struct {
	UUID        string            `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Addresses   []string          `ovsdb:"addresses"`
	Up          *bool             `ovsdb:"up"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

func libovsdbClient(t *testing.T, endpoint string, options ...client.Option) client.Client {
	t.Helper()
	dbModel, err := model.NewClientDBModel("OVN_Northbound", map[string]model.Model{"Logical_Switch_Port": &logicalSwitchPort{}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewOVSDBClient(dbModel, append(options, client.WithEndpoint(endpoint))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(testContext(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ports(t *testing.T, c client.Client) map[string]logicalSwitchPort {
	t.Helper()
	var rows []logicalSwitchPort
	if err := c.List(context.Background(), &rows); err != nil {
		t.Fatal(err)
	}
	out := map[string]logicalSwitchPort{}
	for _, r := range rows {
		out[r.Name] = r
	}
	return out
}

func addPort(ctx context.Context, t *testing.T, s Server, name string, row Row) {
	t.Helper()
	row["name"] = name
	_, err := s.Transact(ctx,
		Insert("Logical_Switch_Port", "p", row),
		Insert("Logical_Switch", "", Row{"name": "sw-" + name, "ports": NamedUUID("p")}))
	if err != nil {
		t.Fatal(err)
	}
}

func TestLibovsdbClient(t *testing.T) {
	ctx := testContext(t)
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	addPort(ctx, t, m, "before", Row{"addresses": []string{"b", "a"}, "external_ids": map[string]string{"k": "v", "l": "w"}})
	c := libovsdbClient(t, m.Endpoint(), client.WithLeaderOnly(true))
	row := &logicalSwitchPort{}
	if _, err := c.Monitor(ctx, c.NewMonitor(client.WithConditionalTable(row, []model.Condition{{Field: &row.Name, Function: libovsdb.ConditionNotEqual, Value: "hidden"}}))); err != nil {
		t.Fatal(err)
	}
	if p := ports(t, c)["before"]; len(p.Addresses) != 2 || p.Up != nil || p.ExternalIDs["l"] != "w" {
		t.Errorf("initial row: %+v", p)
	}
	addPort(ctx, t, m, "hidden", Row{})
	addPort(ctx, t, m, "after", Row{"up": false})
	for _, v := range []any{true, false, true} {
		if _, err := m.Transact(ctx, Update("Logical_Switch_Port", Row{"up": v}, Is("name", "after"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Transact(ctx, Update("Logical_Switch_Port", Row{"addresses": []string{"c", "b"}, "external_ids": map[string]string{"k": "2"}}, Is("name", "before")), Update("Logical_Switch_Port", Row{"up": nil}, Is("name", "before"))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client has followed", func() bool {
		p := ports(t, c)
		up, b := p["after"].Up, p["before"]
		return len(p) == 2 && up != nil && *up && len(b.ExternalIDs) == 1 && b.ExternalIDs["k"] == "2" && len(b.Addresses) == 2
	})
	result, err := c.Transact(ctx, Delete("Logical_Switch", Is("name", "sw-after")))
	if err != nil || len(result) != 1 || result[0].Count != 1 {
		t.Fatalf("client's transaction: %+v %v", result, err)
	}
	eventually(t, "the deleted port is gone", func() bool { return len(ports(t, c)) == 1 })
}

func TestLibovsdbClientReconnects(t *testing.T) {
	if raceDetector {
		t.Skip("libovsdb v0.8.1 starts its next reconnect handler while the last one runs, and the race detector objects")
	}
	for _, kind := range []string{"memory", "real"} {
		t.Run(kind, func(t *testing.T) {
			ctx := testContext(t)
			var s Server
			if kind == "memory" {
				s = startMemory(t, builtin(t, "OVN_Northbound"))
			} else {
				s = startReal(t, builtin(t, "OVN_Northbound"))
			}
			p, err := NewProxy("unix:"+filepath.Join(t.TempDir(), "proxy.sock"), s.Endpoint())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			addPort(ctx, t, s, "one", Row{})
			c := libovsdbClient(t, p.Endpoint(), client.WithReconnect(5*time.Second, often{}))
			if _, err := c.MonitorAll(ctx); err != nil {
				t.Fatal(err)
			}
			p.Cut()
			addPort(ctx, t, s, "two", Row{})
			eventually(t, "the row made while cut off is there", func() bool { return len(ports(t, c)) == 2 })
			if err := s.Restart(ctx, func() {}); err != nil {
				t.Fatal(err)
			}
			addPort(ctx, t, s, "three", Row{})
			eventually(t, "the row made after the restart is there", func() bool { return len(ports(t, c)) == 3 })
		})
	}
}
