package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"ovn-bgp-agent/agent/ovsdb/row"
)

// fakeServer speaks the protocol by a script, right or wrong. It knows one table,
// T, with a string column a.
type fakeServer struct {
	t      *testing.T
	remote string

	mu     sync.Mutex
	seen   []message // what the clients sent
	conns  []net.Conn
	script func(n int, conn net.Conn, m message) // by the connection's number, from 1
}

const fakeSchema = `{"name":"D","tables":{"T":{"columns":{"a":{"type":"string"}}}}}`

// fake starts a server. script answers what is not part of getting the schema.
func fake(t *testing.T, script func(n int, conn net.Conn, m message)) *fakeServer {
	t.Helper()
	path := filepath.Join(shortDir(t), "sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{t: t, remote: "unix:" + path, script: script}
	var serving sync.WaitGroup
	serving.Go(func() {
		for n := 1; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, conn)
			f.mu.Unlock()
			serving.Go(func() { f.serve(n, conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		f.mu.Lock()
		for _, c := range f.conns {
			c.Close()
		}
		f.mu.Unlock()
		serving.Wait()
	})
	return f
}

func (f *fakeServer) serve(n int, conn net.Conn) {
	defer conn.Close()
	decoder := json.NewDecoder(conn)
	for {
		var m message
		if decoder.Decode(&m) != nil {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, m)
		f.mu.Unlock()
		switch {
		case m.Method != nil && *m.Method == "get_schema":
			fmt.Fprintf(conn, `{"id":%s,"error":null,"result":%s}`, m.ID, fakeSchema)
		case m.Method != nil && strings.Contains(string(m.Params), serverDatabase):
			fmt.Fprintf(conn, `{"id":%s,"result":null,"error":{"error":"unknown database"}}`, m.ID)
		default:
			f.script(n, conn, m)
		}
	}
}

func (f *fakeServer) config() Config {
	return Config{Database: "D", Endpoints: []string{f.remote}, Tables: []Table{{Name: "T", Columns: []string{"a"}}}}
}

// content answers a monitor request with one row.
func content(conn net.Conn, m message, a string) {
	fmt.Fprintf(conn, `{"id":%s,"error":null,"result":{"T":{"r1":{"initial":{"a":%q}}}}}`, m.ID, a)
}

func monitoring(m message) bool { return m.Method != nil && *m.Method == "monitor_cond" }

func TestMalformedMessageEndsTheConnection(t *testing.T) {
	for _, malformed := range []string{
		`nonsense`, `[]`, `"x" `, `{}`, `{"id":null}`, `{"method":7,"params":[],"id":null}`,
		`{"method":"update2","params":{},"id":null}`,
		`{"method":"update2","params":[],"id":null}`,
		`{"method":"update2","params":["D"],"id":null}`,
		`{"method":"update2","params":["D",7],"id":null}`,
		`{"method":"update2","params":["D",{"T":7}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r1":7}}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r1":{}}}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r1":{"modify":null}}}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r1":{"insert":{"a":7}}}}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r1":{"insert":{"a":["set"]}}}}],"id":null}`,
		`{"method":"update2","params":["D",{"T":{"r9":{"modify":{"a":"x"}}}}],"id":null}`,
		`{"method":"monitor_canceled","params":["D"],"id":null}`,
	} {
		t.Run(malformed, func(t *testing.T) {
			f := fake(t, func(n int, conn net.Conn, m message) {
				if monitoring(m) {
					content(conn, m, fmt.Sprint("download ", n))
					if n == 1 {
						io.WriteString(conn, malformed)
					}
				}
			})
			r := record(t, f.config())
			r.awaitConnected(2)
			if got, want := r.history(), []string{"complete", "connected", "lost", "complete", "connected"}; !slices.Equal(got, want) {
				t.Errorf("history: %v", got)
			}
			if got := row.String(r.row("T", "r1"), "a"); got != "download 2" {
				t.Errorf("row %q", got)
			}
		})
	}
}

func TestUnaskedMessagesAreIgnored(t *testing.T) {
	f := fake(t, func(n int, conn net.Conn, m message) {
		switch {
		case monitoring(m):
			content(conn, m, "x")
			for _, s := range []string{
				`{"method":"locked","params":["l"],"id":null}`, `{"method":"strange","id":null}`,
				`{"id":12345,"result":{},"error":null}`, `{"id":"s","result":{},"error":null}`,
				`{"method":"update2","params":[["other"],{}],"id":null}`, `{"method":"update2","params":["other",7],"id":null}`,
				`{"method":"monitor_canceled","params":["other"],"id":null}`,
				`{"method":"update2","params":["D",{"Other":{"r":{"delete":null}}}],"id":null}`,
				`{"method":"update2","params":["D",{}],"id":null}`,
				`{"method":"update2","params":["D",{"T":{"r1":{"modify":{"a":"y","unasked":7}}}}],"id":null}`,
				`{"method":"steal_the_cake","params":[],"id":77}`, `{"method":"echo","params":["hello"],"id":"e"}`,
			} {
				io.WriteString(conn, s)
			}
		}
	})
	r := record(t, f.config())
	await(t, "the answers to both requests", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		refused := slices.ContainsFunc(f.seen, func(m message) bool { return string(m.ID) == "77" && !null(m.Error) })
		echoed := slices.ContainsFunc(f.seen, func(m message) bool { return string(m.ID) == `"e"` && string(m.Result) == `["hello"]` })
		return refused && echoed
	})
	await(t, "the update that matters", func() bool { return row.String(r.row("T", "r1"), "a") == "y" })
	if got, want := r.history(), []string{"complete", "connected", "partial"}; !slices.Equal(got, want) {
		t.Errorf("history: %v", got)
	}
}

func TestHalfDownloadIsNotDelivered(t *testing.T) {
	f := fake(t, func(n int, conn net.Conn, m message) {
		switch {
		case monitoring(m) && n == 1:
			fmt.Fprintf(conn, `{"id":%s,"error":null,"result":{"T":{"r1":{"initial":{"a":"x"}},"r2":`, m.ID)
			conn.Close()
		case monitoring(m):
			content(conn, m, "whole")
		}
	})
	r := record(t, f.config())
	r.awaitError("in the middle of a message")
	r.awaitConnected(1)
	if got := r.since(0); len(got) != 1 || row.String(got[0].Tables["T"]["r1"], "a") != "whole" {
		t.Errorf("changes: %v", got)
	}
}

func TestUpdateBeforeTheDownloadIsKept(t *testing.T) {
	f := fake(t, func(n int, conn net.Conn, m message) {
		if monitoring(m) {
			io.WriteString(conn, `{"method":"update2","params":["D",{"T":{"r1":{"modify":{"a":"new"}}}}],"id":null}`)
			content(conn, m, "old")
		}
	})
	r := record(t, f.config())
	r.awaitConnected(1)
	if got, want := r.history(), []string{"complete", "partial", "connected"}; !slices.Equal(got, want) {
		t.Errorf("history: %v", got)
	}
	if got := row.String(r.row("T", "r1"), "a"); got != "new" {
		t.Errorf("row: %q", got)
	}
}

func TestEchoIsAnsweredWhileAChangeIsDelivered(t *testing.T) {
	answered := make(chan struct{})
	f := fake(t, func(n int, conn net.Conn, m message) {
		switch {
		case monitoring(m):
			content(conn, m, "x")
			io.WriteString(conn, `{"method":"update2","params":["D",{"T":{"r1":{"modify":{"a":"y"}}}}],"id":null}{"method":"echo","params":[],"id":"e"}`)
		case m.isReply():
			close(answered)
		}
	})
	r := newRecorder(t, f.config())
	r.hold = func() {
		select {
		case <-answered:
		case <-time.After(patience):
			t.Error("the echo was not answered")
		}
	}
	r.start()
	r.awaitConnected(1)
}

func TestSlowDownloadIsAliveAndAStalledOneIsNot(t *testing.T) {
	const probe = 150 * time.Millisecond
	f := fake(t, func(n int, conn net.Conn, m message) {
		if !monitoring(m) {
			return
		}
		download := fmt.Sprintf(`{"id":%s,"error":null,"result":{"T":{"r1":{"initial":{"a":%q}}}}}`, m.ID, strings.Repeat("x", 10))
		if n == 1 { // stalls; echoes are not answered either
			io.WriteString(conn, download[:40])
			return
		}
		// A byte per tick: several times as long as a silent server would be given.
		tick := time.NewTicker(probe / 10)
		defer tick.Stop()
		for _, b := range []byte(download) {
			<-tick.C
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
		}
	})
	config := f.config()
	config.Probe, config.Timeout = probe, patience
	started := time.Now()
	r := record(t, config)
	r.awaitError("the server is silent")
	stalled := time.Since(started)
	r.awaitConnected(1)
	if stalled < 2*probe {
		t.Errorf("given up after %s", stalled)
	}
	if f.connections() != 2 {
		t.Errorf("%d connections, want 2", f.connections())
	}
}

func (f *fakeServer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

func TestServerWithoutConditionalMonitoring(t *testing.T) {
	conditions := []libovsdb.Condition{
		libovsdb.NewCondition("a", libovsdb.ConditionEqual, "in"),
		libovsdb.NewCondition("a", libovsdb.ConditionEqual, "also in"),
	}
	update := func(conn net.Conn, uuid, rows string) {
		fmt.Fprintf(conn, `{"method":"update","params":["D",{"T":{%q:%s}}],"id":null}`, uuid, rows)
	}
	f := fake(t, func(n int, conn net.Conn, m message) {
		switch {
		case monitoring(m):
			fmt.Fprintf(conn, `{"id":%s,"result":null,"error":{"error":"unknown method"}}`, m.ID)
		case *m.Method == "monitor":
			fmt.Fprintf(conn, `{"id":%s,"error":null,"result":{"T":{"r1":{"new":{"a":"in"}},"r2":{"new":{"a":"out"}}}}}`, m.ID)
			update(conn, "r2", `{"old":{"a":"out"},"new":{"a":"still out"}}`)
			update(conn, "r2", `{"old":{"a":"still out"},"new":{"a":"also in"}}`)
			update(conn, "r1", `{"old":{"a":"in"},"new":{"a":"out"}}`)
			update(conn, "r3", `{"new":{"a":"in"}}`)
			update(conn, "r3", `{"old":{"a":"in"}}`)
			update(conn, "r1", `{"old":{"a":"out"}}`)
			update(conn, "end", `{"new":{"a":"in"}}`)
		}
	})
	config := f.config()
	config.Tables[0].Columns, config.Tables[0].Where = nil, conditions
	r := record(t, config)
	await(t, "the last update", func() bool { return r.row("T", "end") != nil })
	var got []string
	for _, c := range r.since(0) {
		for uuid, row := range c.Tables["T"] {
			got = append(got, fmt.Sprintf("%s %t %d", uuid, row != nil, len(row)))
		}
	}
	want := []string{"r1 true 0", "r2 true 0", "r1 false 0", "r3 true 0", "r3 false 0", "end true 0"}
	if !slices.Equal(got, want) {
		t.Errorf("changes: %q, want %q", got, want)
	}
}
