package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

func addSwitch(t *testing.T, s Server, name string) {
	t.Helper()
	if _, err := s.Transact(testContext(t), Insert("Logical_Switch", "", Row{"name": name})); err != nil {
		t.Fatal(err)
	}
}

var switchNames = obj{"Logical_Switch": obj{"columns": cols("name")}}

func TestUpdateIsBeforeLaterEcho(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	s := newSession(t, m.Endpoint())
	s.must("monitor_cond", "OVN_Northbound", "m", switchNames)
	for i := range 200 {
		addSwitch(t, m, fmt.Sprint("sw", i))
		if n := len(s.drain()); n != 1 {
			t.Fatalf("%d updates before the echo after transaction %d, want 1", n, i)
		}
	}
}

func TestOwnUpdateIsBeforeReply(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	s := newSession(t, m.Endpoint())
	s.must("monitor_cond", "OVN_Northbound", "m", switchNames)
	s.must("transact", "OVN_Northbound", obj{"op": "insert", "table": "Logical_Switch", "row": obj{}})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) != 1 {
		t.Errorf("%d updates when the reply came, want 1", len(s.got))
	}
}

func TestClientThatDoesNotReadDelaysNobody(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	deaf, err := net.Dial("unix", strings.TrimPrefix(m.Endpoint(), "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := deaf.Write([]byte(`{"method":"monitor_cond","id":1,"params":["OVN_Northbound","m",{"Logical_Switch":{}}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := deaf.Read(make([]byte, 10)); err != nil { // the monitor is registered
		t.Fatal(err)
	}
	s := newSession(t, m.Endpoint())
	s.must("monitor_cond", "OVN_Northbound", "m", switchNames)
	big := strings.Repeat("x", 100<<10) // more than the socket buffers hold, all together
	for i := range 50 {
		addSwitch(t, m, fmt.Sprint(i, big))
	}
	if n := len(s.drain()); n != 50 {
		t.Errorf("the other client got %d updates, want 50", n)
	}
}

func TestClientThatNeverReadsIsDropped(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"), WithQueueLimit(1<<20), WithProbe(0))
	deaf, err := net.Dial("unix", strings.TrimPrefix(m.Endpoint(), "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := deaf.Write([]byte(`{"method":"monitor_cond","id":1,"params":["OVN_Northbound","m",{"Logical_Switch":{}}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := deaf.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 100<<10)
	for i := range 50 {
		addSwitch(t, m, fmt.Sprint(i, big))
	}
	eventually(t, "the client is dropped", func() bool { return m.Clients() == 0 })
}

func TestDisconnectFreesMonitorsAndGoroutines(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	before := runtime.NumGoroutine()
	for range 20 {
		s := newSession(t, m.Endpoint())
		s.must("monitor_cond", "OVN_Northbound", "m", switchNames)
		s.must("lock", "l")
		// Left waiting for ever when the client goes.
		if _, err := s.net.Write([]byte(`{"method":"transact","id":"w","params":["OVN_Northbound",{"op":"wait","table":"Logical_Switch","where":[],"columns":["name"],"until":"==","rows":[{"name":"never"}]}]}`)); err != nil {
			t.Fatal(err)
		}
		s.must("echo")
		s.close()
	}
	eventually(t, "all is freed", func() bool {
		m.main.mu.Lock()
		defer m.main.mu.Unlock()
		return len(m.main.monitors) == 0 && m.Clients() == 0 && runtime.NumGoroutine() <= before
	})
	s := newSession(t, m.Endpoint())
	if got := string(s.must("lock", "l")); got != `{"locked":true}` {
		t.Errorf("lock of a client that is gone is still held: %s", got)
	}
}

func TestStopEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	s := newSession(t, m.Endpoint())
	s.must("echo")
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if _, err := m.Transact(testContext(t), Delete("Logical_Switch")); !errors.Is(err, errStopped) {
		t.Errorf("transaction after stop: %v", err)
	}
	if err := m.Stop(); err == nil {
		t.Error("second stop succeeded")
	}
	if err := m.Restart(testContext(t), nil); err == nil {
		t.Error("restart after stop succeeded")
	}
}

func TestWaitIsWokenByAnotherClient(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	s := newSession(t, m.Endpoint())
	done := make(chan json.RawMessage, 1)
	go func() {
		reply, err := s.call(context.Background(), "transact", "OVN_Northbound",
			obj{"op": "wait", "table": "Logical_Switch", "where": list{}, "columns": cols("name"), "until": "==", "rows": list{obj{"name": "x"}}},
			obj{"op": "insert", "table": "Logical_Switch", "row": obj{"name": "woken"}})
		if err != nil {
			reply = json.RawMessage(err.Error())
		}
		done <- reply
	}()
	eventually(t, "the transaction blocks", func() bool { s.must("echo"); return waitingTransactions(m) == 1 })
	addSwitch(t, m, "x")
	if reply := string(<-done); !strings.Contains(reply, `[{},{"uuid"`) {
		t.Errorf("reply %s", reply)
	}
}

func waitingTransactions(m *Memory) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		c.mu.Lock()
		n += len(c.waiting)
		c.mu.Unlock()
	}
	return n
}

func TestCancelEndsAWait(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	s := newSession(t, m.Endpoint())
	done := make(chan error, 1)
	go func() {
		_, err := s.call(context.Background(), "transact", "OVN_Northbound", wait("==", 60000, "Logical_Switch", cols("name"), list{obj{"name": "x"}}))
		done <- err
	}()
	eventually(t, "the transaction blocks", func() bool { return waitingTransactions(m) == 1 })
	s.mu.Lock()
	_, err := s.net.Write([]byte(`{"method":"cancel","params":[1],"id":null}`))
	s.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("the canceled transaction gave %v", err)
	}
}

func TestContextEndsAWait(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Transact(ctx, Insert("Logical_Switch", "", Row{})); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMonitorCondSinceReplays(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	addSwitch(t, m, "kept")
	addSwitch(t, m, "deleted")
	s := newSession(t, m.Endpoint())
	reply := s.must("monitor_cond_since", "OVN_Northbound", "m", switchNames, string(zeroUUID))
	found, last, rows := since(t, reply)
	if found || len(rows) != 2 {
		t.Fatalf("first download: found %v, %d rows", found, len(rows))
	}
	s.close()

	addSwitch(t, m, "new")
	if _, err := m.Transact(testContext(t), Delete("Logical_Switch", Is("name", "deleted")), Update("Logical_Switch", Row{"name": "renamed"}, Is("name", "kept"))); err != nil {
		t.Fatal(err)
	}
	addSwitch(t, m, "gone again")
	if _, err := m.Transact(testContext(t), Delete("Logical_Switch", Is("name", "gone again"))); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, m.Endpoint())
	found, last, rows = since(t, s.must("monitor_cond_since", "OVN_Northbound", "m", switchNames, last))
	slices.Sort(rows)
	want := []string{`{"delete":null}`, `{"insert":{"name":"new"}}`, `{"modify":{"name":"renamed"}}`}
	if !found || !slices.Equal(rows, want) {
		t.Errorf("replay: found %v, rows %v, want %v", found, rows, want)
	}
	if found, _, rows = since(t, s.must("monitor_cond_since", "OVN_Northbound", "m2", switchNames, last)); !found || len(rows) != 0 {
		t.Errorf("nothing has happened, but found %v, rows %v", found, rows)
	}
	if err := m.Restart(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	s = newSession(t, m.Endpoint())
	if found, _, rows = since(t, s.must("monitor_cond_since", "OVN_Northbound", "m", switchNames, last)); found || len(rows) != 2 {
		t.Errorf("after a restart: found %v, rows %v", found, rows)
	}
}

func since(t *testing.T, reply json.RawMessage) (found bool, last string, rows []string) {
	t.Helper()
	var updates map[string]map[string]json.RawMessage
	if err := json.Unmarshal(reply, &[]any{&found, &last, &updates}); err != nil {
		t.Fatal(err)
	}
	for _, r := range updates["Logical_Switch"] {
		rows = append(rows, string(r))
	}
	return found, last, rows
}

func TestHistoryIsBounded(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	first := string(m.main.last)
	for i := range historyLength + 1 {
		addSwitch(t, m, fmt.Sprint(i))
	}
	s := newSession(t, m.Endpoint())
	if found, _, rows := since(t, s.must("monitor_cond_since", "OVN_Northbound", "m", switchNames, first)); found || len(rows) != historyLength+1 {
		t.Errorf("found %v, %d rows", found, len(rows))
	}
}

func TestRestartKeepsRows(t *testing.T) {
	for _, kind := range []string{"memory", "real"} {
		t.Run(kind, func(t *testing.T) {
			schema := builtin(t, "Open_vSwitch")
			var s Server
			if kind == "memory" {
				s = startMemory(t, schema)
			} else {
				s = startReal(t, schema)
			}
			ctx := testContext(t)
			_, err := s.Transact(ctx,
				Insert("Interface", "i", Row{"name": "a", "ofport": 3, "mtu": 1500}), Insert("Port", "p", Row{"name": "a", "interfaces": NamedUUID("i")}),
				Insert("Bridge", "b", Row{"name": "a", "ports": NamedUUID("p")}), Insert("Open_vSwitch", "", Row{"bridges": NamedUUID("b")}))
			if err != nil {
				t.Fatal(err)
			}
			c := newSession(t, s.Endpoint())
			c.must("echo")
			refused := false
			at := s.Endpoint()
			if err := s.Restart(ctx, func() {
				_, err := net.Dial("unix", strings.TrimPrefix(at, "unix:"))
				refused = err != nil
			}); err != nil {
				t.Fatal(err)
			}
			<-c.ended
			rows, err := s.Transact(ctx, Select("Interface", []string{"name", "ofport", "mtu"}))
			if err != nil {
				t.Fatal(err)
			}
			r := rows[0].Rows[0]
			if !refused || s.Endpoint() != at || r["name"] != "a" || fmt.Sprint(r["ofport"]) != "3" || len(Strings(r["mtu"])) != 0 {
				t.Errorf("refused %v, endpoint %s, row %v (mtu is ephemeral)", refused, s.Endpoint(), r)
			}
		})
	}
}

func TestSilentClientIsProbedAndDropped(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"), WithProbe(5*time.Millisecond))
	alive := newSession(t, m.Endpoint())
	silent, err := net.Dial("unix", strings.TrimPrefix(m.Endpoint(), "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if err := silent.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for buffer := make([]byte, 1024); ; {
		n, err := silent.Read(buffer)
		text = append(text, buffer[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("not dropped")
		}
		if err != nil {
			break
		}
	}
	if !strings.Contains(string(text), `"method":"echo"`) {
		t.Errorf("not probed: %s", text)
	}
	alive.must("echo")
}

func TestRubbishEndsTheConnectionOnly(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	for _, text := range []string{"}", `[1,2]`, `"x" `, `{"method":5}`, "\x00", `{"method":"transact","params":{},"id":1}`} {
		c, err := net.Dial("unix", strings.TrimPrefix(m.Endpoint(), "unix:"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: connection not ended: %v", text, err)
		}
		c.Close()
	}
	newSession(t, m.Endpoint()).must("echo")
}

func TestTransactNamesWhatFailed(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	for _, c := range []struct {
		ops  []ovsdb.Operation
		want string
	}{
		{[]ovsdb.Operation{Insert("Nope", "", Row{})}, `insert in table "Nope": syntax error`},
		{[]ovsdb.Operation{Insert("Logical_Switch", "", Row{"name": 5})}, "expected string"},
		{[]ovsdb.Operation{Insert("Logical_Switch", "", Row{"name": struct{}{}})}, "expected string"},
		{[]ovsdb.Operation{Insert("Logical_Switch", "", Row{"ports": UUID("aaaaaaaa-0000-4000-8000-000000000000")})}, "commit: referential integrity violation"},
		{[]ovsdb.Operation{{Op: "abort"}, Insert("Logical_Switch", "", Row{})}, "aborted"},
	} {
		if _, err := m.Transact(testContext(t), c.ops...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	rows, err := m.Transact(testContext(t), Select("Logical_Switch", nil))
	if err != nil || len(rows[0].Rows) != 0 {
		t.Errorf("a failed transaction left %v, %v", rows, err)
	}
}

func TestTransactWithoutConditionsOrColumns(t *testing.T) {
	schema := builtin(t, "OVN_Northbound")
	for _, s := range []Server{startMemory(t, schema), startReal(t, schema)} {
		results, err := s.Transact(testContext(t), Insert("Logical_Switch", "", Row{}), Update("Logical_Switch", Row{}),
			Mutate("Logical_Switch", "external_ids", ovsdb.MutateOperationInsert, map[string]string{"k": "v"}), Select("Logical_Switch", nil), Delete("Logical_Switch"))
		if err != nil || results[2].Count != 1 || len(results[3].Rows) != 1 || results[4].Count != 1 {
			t.Errorf("%s: %+v %v", s.Kind(), results, err)
		}
	}
}

func TestTCPEndpoint(t *testing.T) {
	m, err := NewMemory(builtin(t, "OVN_Northbound"), "tcp:127.0.0.1:0", quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Stop()
	at := m.Endpoint()
	if strings.HasSuffix(at, ":0") {
		t.Fatalf("endpoint %s", at)
	}
	newSession(t, at).must("echo")
	if err := m.Restart(testContext(t), nil); err != nil || m.Endpoint() != at {
		t.Fatalf("restart at %s, was %s: %v", m.Endpoint(), at, err)
	}
	for _, bad := range []string{"", "ssl:1.2.3.4:5", "unix:", "tcp:127.0.0.1:99999", "unix:/nonexistent/x"} {
		if s, err := NewMemory(builtin(t, "OVN_Northbound"), bad, quiet()); err == nil {
			t.Errorf("listens on %q", bad)
			_ = s.Stop()
		}
	}
}

func TestRealOnTCP(t *testing.T) {
	needPrograms(t, "ovsdb-server", "ovsdb-tool")
	dir := t.TempDir()
	writeFile(t, dir+"/s.ovsschema", builtin(t, "OVN_Northbound").JSON())
	r, err := NewReal(testContext(t), dir+"/s.ovsschema", "tcp:127.0.0.1:0", dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	newSession(t, r.Endpoint()).must("echo")
	at := r.Endpoint()
	if err := r.Restart(testContext(t), nil); err != nil || r.Endpoint() != at {
		t.Fatalf("restart at %s, was %s: %v", r.Endpoint(), at, err)
	}
	if _, err := NewReal(testContext(t), dir+"/s.ovsschema", "tcp:127.0.0.1:0", dir, quiet()); err == nil {
		t.Error("a second database in the same folder was made")
	}
}

func TestTenThousandRows(t *testing.T) {
	m := startMemory(t, builtin(t, "OVN_Northbound"))
	const n = 10_000
	ops := make([]ovsdb.Operation, n)
	for i := range ops {
		ops[i] = Insert("Address_Set", "", Row{"name": fmt.Sprint("set", i)})
	}
	start := time.Now()
	if _, err := m.Transact(testContext(t), ops...); err != nil {
		t.Fatal(err)
	}
	inserted := time.Since(start)
	start = time.Now()
	for i := range 100 {
		if _, err := m.Transact(testContext(t), Update("Address_Set", Row{"addresses": []string{"10.0.0.1"}}, Is("name", fmt.Sprint("set", i*100)))); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows inserted in %v, one updated by its index in %v", n, inserted, time.Since(start)/100)
}
