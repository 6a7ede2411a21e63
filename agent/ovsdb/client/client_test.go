package client

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

func northbound(s *ovsdbServer) Config {
	return Config{Database: "OVN_Northbound", Endpoints: []string{s.remote}, Tables: []Table{
		{Name: "Logical_Switch", Columns: []string{"name", "ports"}},
		{Name: "Logical_Switch_Port", Columns: []string{"name", "addresses", "up", "options"}},
	}}
}

func TestRowsFollowTheServer(t *testing.T) {
	s := newServer(t, northboundSchema)
	u := s.user("OVN_Northbound")
	first := u.transact(
		`{"op":"insert","table":"Logical_Switch","row":{"name":"ls","ports":["named-uuid","p"]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"lsp"}}`)
	uuid := first[1]["uuid"].([]any)[1].(string)

	r := record(t, northbound(s))
	r.awaitConnected(1)
	if c := r.since(0); len(c) != 1 || !c[0].Complete || len(c[0].Absent) != 0 {
		t.Fatalf("first changes: %+v", c)
	}
	if got := r.row("Logical_Switch_Port", uuid); got["up"].(libovsdb.OvsSet).GoSet == nil || row.String(got, "name") != "lsp" {
		t.Fatalf("initial row: %v", got)
	}
	for _, step := range []struct {
		set       string
		addresses []string
		options   map[string]string
		up, isSet bool
	}{
		{`{"up": true}`, nil, map[string]string{}, true, true},
		{`{"up": false}`, nil, map[string]string{}, false, true},
		{`{"up": ["set",[]]}`, nil, map[string]string{}, false, false},
		{`{"up": true, "addresses": "a"}`, []string{"a"}, map[string]string{}, true, true},
		{`{"addresses": ["set",["a","b","c"]]}`, []string{"a", "b", "c"}, map[string]string{}, true, true},
		{`{"addresses": ["set",["d","b"]]}`, []string{"b", "d"}, map[string]string{}, true, true},
		{`{"options": ["map",[["k","1"],["l","2"]]]}`, []string{"b", "d"}, map[string]string{"k": "1", "l": "2"}, true, true},
		{`{"options": ["map",[["k","3"]]]}`, []string{"b", "d"}, map[string]string{"k": "3"}, true, true},
		{`{"options": ["map",[]], "addresses": ["set",[]]}`, nil, map[string]string{}, true, true},
	} {
		before, old := r.count(), r.row("Logical_Switch_Port", uuid)
		kept := maps.Clone(old)
		u.update("Logical_Switch_Port", uuid, step.set)
		r.barrier()
		if c := r.since(before); len(c) != 1 || c[0].Complete {
			t.Fatalf("%s: changes %+v", step.set, c)
		}
		got := r.row("Logical_Switch_Port", uuid)
		up, isSet := row.OptBool(got, "up")
		if !slices.Equal(row.Strings(got, "addresses"), step.addresses) || up != step.up || isSet != step.isSet ||
			!cmp.Equal(row.Map(got, "options"), step.options) || row.String(got, "name") != "lsp" {
			t.Errorf("%s: row is %v", step.set, got)
		}
		if diff := cmp.Diff(kept, old); diff != "" {
			t.Errorf("%s: the row delivered before was altered: %s", step.set, diff)
		}
	}
	u.transact(`{"op":"delete","table":"Logical_Switch","where":[]}`)
	r.barrier()
	if got := r.rows(); len(got["Logical_Switch"]) != 0 || len(got["Logical_Switch_Port"]) != 0 {
		t.Errorf("after the deletion: %v", got)
	}
}

func TestTransactionIsOneChange(t *testing.T) {
	s := newServer(t, northboundSchema)
	u := s.user("OVN_Northbound")
	r := record(t, northbound(s))
	r.awaitConnected(1)
	u.transact(
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b"}}`,
		`{"op":"insert","table":"Logical_Switch","row":{"name":"ls","ports":["set",[["named-uuid","a"],["named-uuid","b"]]]}}`)
	r.barrier()
	changes := r.since(1)
	if len(changes) != 1 || len(changes[0].Tables["Logical_Switch"]) != 1 || len(changes[0].Tables["Logical_Switch_Port"]) != 2 {
		t.Errorf("changes: %+v", changes)
	}
}

func TestRestartIsOneCompleteDownload(t *testing.T) {
	s := newServer(t, northboundSchema)
	u := s.user("OVN_Northbound")
	for _, name := range []string{"kept", "changed", "gone"} {
		u.insert("Logical_Switch", fmt.Sprintf(`{"name":%q}`, name))
	}
	r := record(t, northbound(s))
	r.awaitConnected(1)
	up := r.client.State()
	s.stop()
	await(t, "loss noticed", func() bool { return !r.client.State().Connected })
	down := r.client.State()
	run(t, "ovsdb-tool", "transact", s.database, `["OVN_Northbound",
		{"op":"delete","table":"Logical_Switch","where":[["name","==","gone"]]},
		{"op":"update","table":"Logical_Switch","where":[["name","==","changed"]],"row":{"name":"new name"}},
		{"op":"insert","table":"Logical_Switch","row":{"name":"added"}}]`)
	s.start()
	r.awaitConnected(2)
	again := r.client.State()
	if up.Err != nil || down.Err == nil || again.Err != nil || again.Reconnects != 1 ||
		!up.Since.Before(down.Since) || !down.Since.Before(again.Since) {
		t.Errorf("states: %+v, %+v, %+v", up, down, again)
	}
	if want, got := []string{"complete", "connected", "lost", "complete", "connected"}, r.history(); !slices.Equal(got, want) {
		t.Errorf("history: %v, want %v", got, want)
	}
	var names []string
	for _, x := range r.since(1)[0].Tables["Logical_Switch"] {
		names = append(names, row.String(x, "name"))
	}
	slices.Sort(names)
	if want := []string{"added", "kept", "new name"}; !slices.Equal(names, want) {
		t.Errorf("switches after the restart: %v, want %v", names, want)
	}
	if log := r.logged(); strings.Count(log, "lost the connection") != 1 || strings.Count(log, "connected to") != 2 {
		t.Errorf("log:\n%s", log)
	}
}

func TestWhatTheServerLacksIsReported(t *testing.T) {
	s := newServer(t, northboundSchema)
	config := northbound(s)
	config.Tables = append(config.Tables,
		Table{Name: "Logical_Router_Port", Columns: []string{"name", "future"}},
		Table{Name: "Nonesuch", Columns: []string{"name"}, Optional: true})
	r := record(t, config)
	r.awaitConnected(1)
	want := map[string][]string{"Logical_Router_Port": {"future"}, "Nonesuch": nil}
	if diff := cmp.Diff(want, r.since(0)[0].Absent); diff != "" {
		t.Error(diff)
	}
	uuid := s.user("OVN_Northbound").insert("Logical_Switch", `{"name":"ls"}`)
	r.barrier()
	if r.row("Logical_Switch", uuid) == nil {
		t.Error("the rest is not monitored")
	}
}

func TestTableWithoutColumnsTellsItsRows(t *testing.T) {
	s := newServer(t, northboundSchema)
	u := s.user("OVN_Northbound")
	config := northbound(s)
	config.Tables = []Table{{Name: "Logical_Switch"}}
	r := record(t, config)
	r.awaitConnected(1)
	uuid := u.insert("Logical_Switch", `{"name":"ls"}`)
	r.barrier()
	if got := r.row("Logical_Switch", uuid); got == nil || len(got) != 0 {
		t.Errorf("row: %v", got)
	}
}

func TestMissingTableIsAnErrorUntilItIsThere(t *testing.T) {
	s := newServer(t, vswitchSchema)
	config := northbound(s)
	config.Database = "Open_vSwitch"
	r := record(t, config)
	r.awaitError("has no table Logical_Switch")
	await(t, "several attempts", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.states) >= 5
	})
	if n := strings.Count(r.logged(), "has no table"); n != 1 {
		t.Errorf("the error is logged %d times", n)
	}
	s.stop()
	run(t, "rm", s.database)
	run(t, "ovsdb-tool", "create", s.database, northboundSchema)
	s.start()
	r.awaitError("unknown database")
	if r.count() != 0 {
		t.Error("something was delivered")
	}
}

func TestFrozenServerIsFound(t *testing.T) {
	s := newServer(t, northboundSchema)
	config := northbound(s)
	config.Probe, config.Timeout = 300*time.Millisecond, 500*time.Millisecond
	r := record(t, config)
	r.awaitConnected(1)
	s.signal(syscall.SIGSTOP)
	r.awaitError("the server is silent")
	r.awaitError("no answer in time")
	s.signal(syscall.SIGCONT)
	r.awaitConnected(2)
}

func TestQuietServerStays(t *testing.T) {
	s := newServer(t, northboundSchema)
	config := northbound(s)
	config.Probe = 200 * time.Millisecond
	r := record(t, config)
	r.awaitConnected(1)
	r.client.mu.Lock()
	heard := r.client.session.lastHeard
	r.client.mu.Unlock()
	for range 3 {
		last := heard()
		await(t, "an echo's answer", func() bool { return heard().After(last) })
	}
	if s := r.client.State(); !s.Connected || s.Reconnects != 0 {
		t.Errorf("state: %+v", s)
	}
}

func TestNextEndpointTakesOver(t *testing.T) {
	a, b := newServer(t, northboundSchema), newServer(t, northboundSchema)
	a.user("OVN_Northbound").insert("Logical_Switch", `{"name":"a"}`)
	b.user("OVN_Northbound").insert("Logical_Switch", `{"name":"b"}`)
	config := northbound(a)
	config.Endpoints = []string{"unix:/nonexistent/socket", a.remote, b.remote}
	r := record(t, config)
	for i, s := range []*ovsdbServer{a, b, a} {
		r.awaitConnected(i + 1)
		if got := r.client.State().Endpoint; got != s.remote {
			t.Fatalf("connection %d: at %s, want %s", i+1, got, s.remote)
		}
		s.stop()
		if s == a && i == 0 {
			await(t, "failover", func() bool { return r.client.State().Reconnects == 1 })
			a.start()
		}
	}
}

func TestBarrierIsAFence(t *testing.T) {
	s := newEverythingServer(t)
	u := s.user("Everything")
	r := record(t, Config{Database: "Everything", Endpoints: []string{s.remote}, Tables: []Table{{Name: "Other", Columns: []string{"name"}}}})
	r.awaitConnected(1)
	for i := range 1000 {
		uuid := u.insert("Other", fmt.Sprintf(`{"name":"%d"}`, i))
		r.barrier()
		if r.row("Other", uuid) == nil {
			t.Fatalf("row %d is not there", i)
		}
	}
}

func TestBarrierNeedsAConnection(t *testing.T) {
	s := newServer(t, northboundSchema)
	config := northbound(s)
	config.Probe = patience
	r := record(t, config)
	r.awaitConnected(1)
	s.signal(syscall.SIGSTOP)
	result := make(chan error)
	go func() { result <- r.client.Barrier(t.Context()) }()
	s.stop()
	if err := <-result; err != ErrNotConnected {
		t.Errorf("barrier of a lost connection: %v", err)
	}
	await(t, "loss noticed", func() bool { return !r.client.State().Connected })
	if err := r.client.Barrier(t.Context()); err != ErrNotConnected {
		t.Errorf("barrier without connection: %v", err)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	s := newServer(t, northboundSchema)
	before := runtime.NumGoroutine()
	for range 10 {
		r := record(t, northbound(s))
		r.awaitConnected(1)
		r.end()
		if got := r.client.State(); got.Connected {
			t.Fatalf("state after the end: %+v", got)
		}
	}
	await(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestUnconnectedClusterMemberIsPassedOver(t *testing.T) {
	good := newServer(t, northboundSchema)
	dir := shortDir(t)
	joining := serverIn(t, dir)
	run(t, "ovsdb-tool", "join-cluster", joining.database, "OVN_Northbound",
		"unix:"+filepath.Join(dir, "raft"), "unix:"+filepath.Join(dir, "nobody"))
	joining.start()
	config := northbound(good)
	config.Endpoints = []string{joining.remote, good.remote}
	r := record(t, config)
	r.awaitError("not connected to its cluster")
	r.awaitConnected(1)
	if got := r.client.State().Endpoint; got != good.remote {
		t.Errorf("connected to %s", got)
	}
}

func TestLeaderOnly(t *testing.T) {
	_, leader := newCluster(t)
	follower := joinCluster(t, leader)
	config := northbound(follower)
	config.Endpoints, config.LeaderOnly = []string{follower.remote, leader.remote}, true
	r := record(t, config)
	r.awaitError("not the leader")
	r.awaitConnected(1)
	if got := r.client.State().Endpoint; got != leader.remote {
		t.Errorf("connected to %s", got)
	}
	config.LeaderOnly = false
	r = record(t, config)
	r.awaitConnected(1)
	if got := r.client.State().Endpoint; got != follower.remote {
		t.Errorf("connected to %s", got)
	}
	// Without its leader the other member has no majority: its rows may be stale.
	leader.stop()
	r.awaitError("not connected to its cluster")
}

// newCluster starts a cluster of one member.
func newCluster(t *testing.T) (dir string, s *ovsdbServer) {
	t.Helper()
	if _, err := exec.LookPath("ovsdb-tool"); err != nil {
		t.Skip("ovsdb-tool is not installed")
	}
	dir = shortDir(t)
	s = serverIn(t, dir)
	run(t, "ovsdb-tool", "--election-timer=1000", "create-cluster", s.database, northboundSchema, "unix:"+filepath.Join(dir, "raft"))
	s.start()
	r := record(t, northbound(s))
	r.awaitConnected(1)
	r.end()
	return dir, s
}

// joinCluster starts another member of a cluster and waits until it has joined.
func joinCluster(t *testing.T, to *ovsdbServer) *ovsdbServer {
	t.Helper()
	dir := shortDir(t)
	s := serverIn(t, dir)
	run(t, "ovsdb-tool", "join-cluster", s.database, "OVN_Northbound", "unix:"+filepath.Join(dir, "raft"), "unix:"+filepath.Join(to.dir, "raft"))
	s.start()
	r := record(t, northbound(s))
	r.awaitConnected(1)
	r.end()
	return s
}

func TestUnusableConfiguration(t *testing.T) {
	for _, endpoints := range [][]string{nil, {"udp:1.2.3.4:1"}, {"tcp:1.2.3.4"}, {"tcp:fe80::1:6641"}, {"unix:"}, {"ssl:a:1"}} {
		c := New(Config{Database: "X", Endpoints: endpoints})
		if err := c.Run(t.Context(), func(Change) {}); err == nil || !strings.Contains(err.Error(), "database X: ") {
			t.Errorf("%q: %v", endpoints, err)
		}
	}
	for _, text := range []string{"unix:/p", "tcp:host:1", "tcp:[::1]:6641", "tcp:1.2.3.4:6641", "ssl:[::1]:1"} {
		if _, err := parseEndpoint(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
