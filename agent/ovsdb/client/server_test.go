package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	northboundSchema = "/usr/share/ovn/ovn-nb.ovsschema"
	southboundSchema = "/usr/share/ovn/ovn-sb.ovsschema"
	vswitchSchema    = "/usr/share/openvswitch/vswitch.ovsschema"
)

// patience bounds every wait of the tests.
const patience = 20 * time.Second

// everyType has a column of each kind of type.
const everyType = `{"name": "Everything", "version": "1.0.0", "tables": {
  "Thing": {"isRoot": true, "columns": {
    "name": {"type": "string"},
    "n":    {"type": "integer"},
    "r":    {"type": "real"},
    "b":    {"type": "boolean"},
    "e":    {"type": {"key": {"type": "string", "enum": ["set", ["", "red", "green"]]}}},
    "opts": {"type": {"key": "string", "min": 0, "max": 1}},
    "optn": {"type": {"key": {"type": "integer", "minInteger": -10, "maxInteger": 10}, "min": 0, "max": 1}},
    "optb": {"type": {"key": "boolean", "min": 0, "max": 1}},
    "strs": {"type": {"key": "string", "min": 0, "max": "unlimited"}},
    "ints": {"type": {"key": "integer", "min": 0, "max": "unlimited"}},
    "reals":{"type": {"key": "real", "min": 0, "max": 3}},
    "two":  {"type": {"key": "integer", "min": 1, "max": 2}},
    "refs": {"type": {"key": {"type": "uuid", "refTable": "Other", "refType": "weak"}, "min": 0, "max": "unlimited"}},
    "map":  {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
    "nums": {"type": {"key": "integer", "value": "integer", "min": 0, "max": "unlimited"}},
    "one":  {"type": {"key": "string", "value": "boolean", "min": 0, "max": 1}}}},
  "Other": {"isRoot": true, "columns": {"name": {"type": "string"}}}}}`

// ovsdbServer is a real ovsdb-server of one database file.
type ovsdbServer struct {
	t        testing.TB
	dir      string
	database string
	remote   string
	args     []string
	process  *exec.Cmd
}

// newServer starts an ovsdb-server of an empty database.
func newServer(t testing.TB, schemaFile string, args ...string) *ovsdbServer {
	t.Helper()
	if _, err := exec.LookPath("ovsdb-server"); err != nil {
		t.Skip("ovsdb-server is not installed")
	}
	if _, err := os.Stat(schemaFile); err != nil {
		t.Skipf("no schema: %v", err)
	}
	s := serverIn(t, shortDir(t), args...)
	run(t, "ovsdb-tool", "create", s.database, schemaFile)
	s.start()
	return s
}

func serverIn(t testing.TB, dir string, args ...string) *ovsdbServer {
	s := &ovsdbServer{t: t, dir: dir, database: filepath.Join(dir, "db"), remote: "unix:" + filepath.Join(dir, "sock"), args: args}
	t.Cleanup(s.stop)
	return s
}

func newEverythingServer(t testing.TB) *ovsdbServer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "schema")
	if err := os.WriteFile(file, []byte(everyType), 0o644); err != nil {
		t.Fatal(err)
	}
	return newServer(t, file)
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ovsdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *ovsdbServer) start() {
	s.t.Helper()
	args := append([]string{
		"--no-chdir", "--log-file=" + filepath.Join(s.dir, "log"), "-vconsole:off",
		"--unixctl=" + filepath.Join(s.dir, "ctl"), "--remote=p" + s.remote,
	}, s.args...)
	s.process = exec.Command("ovsdb-server", append(args, s.database)...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	await(s.t, "ovsdb-server listens", func() bool {
		conn, err := net.Dial("unix", s.remote[len("unix:"):])
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (s *ovsdbServer) stop() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	s.process.Wait()
	s.process = nil
	os.Remove(s.remote[len("unix:"):])
}

func (s *ovsdbServer) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// user is another client's connection, to change the database with.
type user struct {
	t        testing.TB
	database string
	session  *session
}

func (s *ovsdbServer) user(database string) *user {
	s.t.Helper()
	conn, err := net.Dial("unix", s.remote[len("unix:"):])
	if err != nil {
		s.t.Fatal(err)
	}
	u := &user{s.t, database, newSession(newWire(conn), patience, patience)}
	s.t.Cleanup(u.session.close)
	return u
}

// transact runs one transaction of operations in JSON; it returns their results.
func (u *user) transact(operations ...string) []map[string]any {
	u.t.Helper()
	results, err := u.try(operations...)
	if err != nil {
		u.t.Fatalf("transact %v: %v", operations, err)
	}
	return results
}

func (u *user) try(operations ...string) ([]map[string]any, error) {
	params := []any{u.database}
	for _, o := range operations {
		params = append(params, json.RawMessage(o))
	}
	raw, err := u.session.call(context.Background(), patience, "transact", params)
	if err != nil {
		return nil, err
	}
	decoded, err := decodeAny(raw)
	if err != nil {
		return nil, err
	}
	var results []map[string]any
	for _, v := range decoded.([]any) {
		result, _ := v.(map[string]any)
		if result["error"] != nil {
			return nil, fmt.Errorf("%v: %v", result["error"], result["details"])
		}
		results = append(results, result)
	}
	return results, nil
}

// insert adds a row, given in JSON, and returns its UUID.
func (u *user) insert(table, row string) string {
	u.t.Helper()
	result := u.transact(fmt.Sprintf(`{"op":"insert","table":%q,"row":%s}`, table, row))
	return result[0]["uuid"].([]any)[1].(string)
}

// update changes the row with that UUID.
func (u *user) update(table, uuid, row string) {
	u.t.Helper()
	u.transact(fmt.Sprintf(`{"op":"update","table":%q,"where":[["_uuid","==",["uuid",%q]]],"row":%s}`, table, uuid, row))
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// await polls a condition that other processes bring about.
func await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}
