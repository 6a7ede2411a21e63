package kernel

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ovn-bgp-agent/agent/node"
)

func TestParseRTTables(t *testing.T) {
	names, numbers := parseRTTables([]byte(strings.Join([]string{
		"# 99 comment", "255\tlocal", "201 br-ex", "202 br-ex", "203 br-vlan # with text", " 204 indented", "0x10 hex",
		"205", "br-alone", "206   \t br-wide", "4294967295 br-last", "4294967296 br-none", "201 br-same", "207 br-dos\r", "208 br-end",
	}, "\n")))
	if d := cmp.Diff(map[string]uint32{
		"local": 255, "br-ex": 201, "br-vlan": 203, "br-wide": 206, "br-last": 4294967295, "br-same": 201, "br-dos": 207, "br-end": 208,
	}, names); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
	want := map[uint32]struct{}{255: {}, 201: {}, 202: {}, 203: {}, 206: {}, 4294967295: {}, 207: {}, 208: {}}
	if d := cmp.Diff(want, numbers); d != "" {
		t.Errorf("numbers (-want +got):\n%s", d)
	}
}

// files is a Kernel that has only its files.
func files(t *testing.T) *Kernel {
	dir := t.TempDir()
	return &Kernel{writes: map[node.Kind]uint64{}, config: Config{
		RTTables:        filepath.Join(dir, "etc", "iproute2", "rt_tables"),
		RTTablesDefault: []string{filepath.Join(dir, "usr-share"), filepath.Join(dir, "usr-lib")},
		Log:             slog.New(slog.DiscardHandler),
	}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMakeRTTable(t *testing.T) {
	const missing = "missing"
	for name, test := range map[string]struct {
		file, share, lib string
		want             string
		writes           uint64
	}{
		"appended":              {"254 main\n", "1 share\n", missing, "254 main\n201 br-ex\n", 1},
		"last line unfinished":  {"254 main", missing, missing, "254 main\n201 br-ex\n", 1},
		"empty file":            {"", missing, missing, "201 br-ex\n", 1},
		"listed":                {"201 br-ex\n", missing, missing, "201 br-ex\n", 0},
		"listed, unfinished":    {"201 br-ex", missing, missing, "201 br-ex", 0},
		"default copied":        {missing, "254 main\n", "9 other\n", "254 main\n201 br-ex\n", 1},
		"default unfinished":    {missing, "254 main", missing, "254 main\n201 br-ex\n", 1},
		"second default":        {missing, missing, "254 main\n", "254 main\n201 br-ex\n", 1},
		"listed by the default": {missing, "201 br-ex\n", missing, "201 br-ex\n", 1},
		"no file at all":        {missing, missing, missing, "201 br-ex\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := files(t)
			for path, text := range map[string]string{
				k.config.RTTables: test.file, k.config.RTTablesDefault[0]: test.share, k.config.RTTablesDefault[1]: test.lib,
			} {
				if text != missing {
					write(t, path, text)
				}
			}
			for range 2 {
				if err := k.makeRTTable("br-ex", 201); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(k.config.RTTables)
				if err != nil || string(text) != test.want {
					t.Fatalf("file is %q (%v), want %q", text, err, test.want)
				}
			}
			if n := k.Writes()[node.KindRTTable]; n != test.writes {
				t.Errorf("%d writes, want %d", n, test.writes)
			}
			info, err := os.Stat(k.config.RTTables)
			if err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("mode %v (%v)", info.Mode(), err)
			}
			if entries, _ := os.ReadDir(filepath.Dir(k.config.RTTables)); len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// TestRTTablesUnreadable: the default counts only while there is no file.
func TestRTTablesUnreadable(t *testing.T) {
	k := files(t)
	write(t, k.config.RTTablesDefault[0], "254 main\n")
	if err := os.MkdirAll(k.config.RTTables, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.readRTTables(); err == nil || !strings.Contains(err.Error(), k.config.RTTables) {
		t.Errorf("error is %v, want one that names the file", err)
	}
	if err := k.makeRTTable("br-ex", 201); err == nil {
		t.Error("made without an error")
	}
}

// TestForwardingWithoutIPv6: what the kernel does not have is not reported.
func TestForwardingWithoutIPv6(t *testing.T) {
	k := files(t)
	k.config.ProcSys = t.TempDir()
	write(t, filepath.Join(k.config.ProcSys, "net", "ipv4", "ip_forward"), "1\n")
	got, err := k.readForwarding()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]bool{"net.ipv4.ip_forward": true}, got); d != "" {
		t.Error(d)
	}
}

func TestRTTablesReadOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("this kernel cannot make a mount namespace: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	for name, exists := range map[string]bool{"file": true, "no file": false} {
		k := files(t)
		dir := filepath.Dir(k.config.RTTables)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if exists {
			write(t, k.config.RTTables, "254 main\n")
		}
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		err := k.makeRTTable("br-ex", 201)
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: error is %v, want EROFS", name, err)
			continue
		}
		for _, part := range []string{k.config.RTTables, "EROFS", "201 br-ex"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q lacks %q", name, err, part)
			}
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
}
