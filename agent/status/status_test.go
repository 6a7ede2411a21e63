package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is an agent that notes what it is asked.
type fake struct {
	report Report
	asked  chan string
	ended  chan struct{} // the context of a blocked request has ended
	err    error
	block  bool // until the request's context ends
}

func (f *fake) ask(ctx context.Context, request string) error {
	f.asked <- request
	if f.block {
		<-ctx.Done()
		close(f.ended)
		return ctx.Err()
	}
	return f.err
}

func (f *fake) Report(ctx context.Context) (Report, error) { return f.report, f.ask(ctx, "report") }
func (f *fake) Settled(ctx context.Context) error          { return f.ask(ctx, "settled") }
func (f *fake) Confirm(ctx context.Context) error          { return f.ask(ctx, "confirm") }
func (f *fake) Sync(ctx context.Context) (SyncResult, error) {
	return SyncResult{Writes: map[string]uint64{"rule": 2}}, f.ask(ctx, "sync")
}

// serve runs a fake agent until the test ends; stop ends it earlier and returns what
// Serve did.
func serve(t *testing.T, f *fake) (path string, stop func() error) {
	t.Helper()
	f.asked, f.ended = make(chan string, 16), make(chan struct{})
	path = filepath.Join(t.TempDir(), "made", "status.sock")
	listener, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, listener, f, slog.New(slog.NewTextHandler(io.Discard, nil))) }()
	stopped := false
	stop = func() error {
		cancel()
		stopped = true
		return <-done
	}
	t.Cleanup(func() {
		if !stopped {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return path, stop
}

var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func example() Report {
	return Report{
		Version: "1.0", Driver: "nb_ovn_bgp_driver", Method: "underlay", Started: day,
		Node: Node{Hostname: "cmp1", SystemID: "id-cmp1"},
		Connections: []Connection{
			{Name: "local", Database: "Open_vSwitch", Endpoint: "unix:/run/openvswitch/db.sock", State: "connected", Since: day},
			{Name: "ovn", Database: "OVN_Northbound", Endpoint: "tcp:10.0.0.1:6641", State: "disconnected", Since: day, Reconnects: 3, LastError: "connection refused"},
		},
		FRR:  FRR{State: "configured", RouterID: "172.24.4.1", AS: 64999},
		Sync: Sync{Count: 2, Cause: "requested", Last: day, Duration: 12 * time.Millisecond, Steps: map[string]int{"rule": 2, "address": 1}},
		Exposures: []Exposure{
			{Kind: "provider VM", Prefix: "172.24.4.10/32", Port: "vm1", Network: "public", State: "applied", Since: day},
			{Kind: "provider VM", Port: "vm2", State: "pending", Reason: "no patch port\non br-ex", Since: day},
		},
		Problems: []Problem{{Name: "database", Text: "OVN_Northbound is not reached", Since: day}},
		Guard:    Guard{Held: true, Withdrawals: []string{"172.24.4.20/32"}},
		DryRun:   true, Plan: []string{"make rule 172.24.4.10/32"},
	}
}

func TestRequests(t *testing.T) {
	f := &fake{report: example()}
	path, _ := serve(t, f)
	client := Dial(path)
	tests := []struct {
		name string
		ask  func() (any, error)
		want any
	}{
		{"report", func() (any, error) { return client.Report(t.Context()) }, example()},
		{"sync", func() (any, error) { return client.Sync(t.Context()) }, SyncResult{Writes: map[string]uint64{"rule": 2}}},
		{"settled", func() (any, error) { return nil, client.Settled(t.Context()) }, nil},
		{"confirm", func() (any, error) { return nil, client.Confirm(t.Context()) }, nil},
	}
	for _, test := range tests {
		got, err := test.ask()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if asked := <-f.asked; asked != test.name {
			t.Errorf("the agent was asked %s, not %s", asked, test.name)
		}
	}
}

// TestErrors: the agent's error reaches the client as it is.
func TestErrors(t *testing.T) {
	path, _ := serve(t, &fake{err: errors.New("not settled: database OVN_Northbound is not connected")})
	client := Dial(path)
	_, errReport := client.Report(t.Context())
	_, errSync := client.Sync(t.Context())
	for name, err := range map[string]error{"report": errReport, "sync": errSync, "settled": client.Settled(t.Context()), "confirm": client.Confirm(t.Context())} {
		if err == nil || err.Error() != "not settled: database OVN_Northbound is not connected" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrongMethod: a request that changes something is no GET.
func TestWrongMethod(t *testing.T) {
	f := &fake{}
	path, _ := serve(t, f)
	client := Dial(path)
	for _, route := range []string{"/sync", "/confirm", "/none"} {
		err := client.ask(t.Context(), http.MethodGet, route, &struct{}{})
		if err == nil || !strings.Contains(err.Error(), "agent at "+path) {
			t.Errorf("GET %s: %v", route, err)
		}
	}
	if len(f.asked) != 0 {
		t.Errorf("the agent was asked %s", <-f.asked)
	}
}

// TestEmptyListsAreLists: scripts may go through them without looking for null.
func TestEmptyListsAreLists(t *testing.T) {
	text, err := json.Marshal(Report{}.complete())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"connections":[]`, `"exposures":[]`, `"problems":[]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestClientGoesAway: the agent's work for a client ends with the client.
func TestClientGoesAway(t *testing.T) {
	f := &fake{block: true}
	path, _ := serve(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() { answered <- Dial(path).Settled(ctx) }()
	<-f.asked
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-f.ended:
	case <-time.After(10 * time.Second):
		t.Error("the agent still works for the client")
	}
}

// TestSilentClients: clients that send nothing, or do not read, keep no other from
// being answered, nor the server from stopping.
func TestSilentClients(t *testing.T) {
	f := &fake{report: example()}
	for i := range 20_000 {
		f.report.Exposures = append(f.report.Exposures, Exposure{Port: fmt.Sprint("vm", i), Reason: strings.Repeat("x", 100)})
	}
	path, stop := serve(t, f)
	for i := range 8 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server has closed it, or nobody minds
		if i%2 == 0 {
			if _, err := io.WriteString(conn, "GET /status HTTP/1.1\r\nHost: agent\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-f.asked
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := Dial(path).Settled(ctx); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestSocket(t *testing.T) {
	path, stop := serve(t, &fake{})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Mode(), fs.ModeSocket|0o660; got != want {
		t.Errorf("mode %v, want %v", got, want)
	}
	if _, err := Listen(path, 0o660); err == nil || !strings.Contains(err.Error(), path+": another agent serves it") {
		t.Errorf("a second agent: %v", err)
	}
	if err := Dial(path).Settled(t.Context()); err != nil {
		t.Errorf("after the second agent: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
	if err := Dial(path).Settled(t.Context()); err == nil || !strings.Contains(err.Error(), "agent at "+path) {
		t.Errorf("a client without agent: %v", err)
	}
}

// TestStaleSocket: a killed agent's socket is replaced.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status.sock")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	killed.SetUnlinkOnClose(false)
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoSocket: a mistyped path costs nobody a file.
func TestNoSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, 0o660); err == nil || !strings.Contains(err.Error(), "it is not a socket") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "x" {
		t.Errorf("the file: %q, %v", text, err)
	}
}

func TestWriteText(t *testing.T) {
	tests := []struct {
		name   string
		report Report
		want   string
	}{
		{"everything", example(), `
PROBLEM   OVN_Northbound is not reached  since 2026-01-02T03:04:05Z
HELD      withdrawal of 172.24.4.20/32
agent     1.0, driver nb_ovn_bgp_driver, method underlay, started 2026-01-02T03:04:05Z
node      hostname "cmp1", system-id "id-cmp1"
database  Open_vSwitch unix:/run/openvswitch/db.sock connected since 2026-01-02T03:04:05Z
database  OVN_Northbound tcp:10.0.0.1:6641 disconnected since 2026-01-02T03:04:05Z after 3 reconnects - connection refused
FRR       configured AS 64999 router-id 172.24.4.1
sync      2 so far, last at 2026-01-02T03:04:05Z (requested) in 12ms: address 1, rule 2
dry run   1 changes would be made
plan      make rule 172.24.4.10/32

PREFIX          STATE    KIND         PORT  NETWORK  REASON
172.24.4.10/32  applied  provider VM  vm1   public   
-               pending  provider VM  vm2   -        no patch port on br-ex
`},
		{"at the start", Report{Version: "1.0", Driver: "ovn_bgp_driver", Method: "underlay", Started: day,
			Connections: []Connection{{Database: "OVN_Southbound", State: "not configured"}},
			FRR:         FRR{State: "unreachable", Reason: "no such file", AS: 1}}, `
agent     1.0, driver ovn_bgp_driver, method underlay, started 2026-01-02T03:04:05Z
node      hostname "", system-id ""
database  OVN_Southbound not configured
FRR       unreachable AS 1 - no such file
sync      not yet

PREFIX  STATE  KIND  PORT  NETWORK  REASON
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			if err := test.report.WriteText(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want[1:], out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWriteTextError: a full disk or a closed pipe is told.
func TestWriteTextError(t *testing.T) {
	read, write := io.Pipe()
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	if err := example().WriteText(write); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
