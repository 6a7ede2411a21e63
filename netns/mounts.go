package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// privateFolders are the folders every node has for itself, in memory: all places where FRR, Open vSwitch, OVN and an agent keep sockets,
// process numbers, configuration, databases and logs.
var privateFolders = []string{"/run", "/etc/frr", "/etc/iproute2", "/etc/openvswitch", "/etc/ovn",
	"/var/lib/openvswitch", "/var/lib/ovn", "/var/log", "/var/tmp"}

// ownedFolders are made in them. The owner is root where the user does not exist (package not installed).
var ownedFolders = []struct {
	path, user string
	mode       uint32
}{
	{"/run/lock", "root", 0o1777},
	{"/run/frr", "frr", 0o755},
	{"/run/openvswitch", "root", 0o755},
	{"/run/ovn", "root", 0o755},
	{"/var/log/frr", "frr", 0o755},
	{"/var/log/openvswitch", "root", 0o755},
	{"/var/log/ovn", "root", 0o755},
	{"/var/tmp", "root", 0o1777},
	{"/var/tmp/frr", "frr", 0o755},
}

// iproute2Folders hold the distribution's names of tables, protocols and so on: the first one that exists is copied.
var iproute2Folders = []string{"/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2"}

// mountPrivate gives the calling thread's mount namespace its private folders.
func mountPrivate(rtTables string) error {
	names, err := readIproute2()
	if err != nil {
		return err
	}
	if rtTables != "" {
		names["rt_tables"] = []byte(rtTables)
	}
	// Newer distributions have no such folder until somebody writes into it.
	if err := os.Mkdir("/etc/iproute2", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, dir := range privateFolders {
		err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
		if errors.Is(err, unix.ENOENT) {
			continue // package not installed
		}
		if err != nil {
			return fmt.Errorf("mount a tmpfs on %s: %w", dir, err)
		}
	}
	for _, f := range ownedFolders {
		if err := makeOwned(f.path, f.user, f.mode); err != nil {
			return fmt.Errorf("folder %s: %w", f.path, err)
		}
	}
	for name, text := range names {
		path := filepath.Join("/etc/iproute2", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readIproute2 reads the distribution's files, keyed by their path below the folder.
func readIproute2() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, root := range iproute2Folders {
		if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[name], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", root, err)
		}
		if len(files) > 0 {
			break
		}
	}
	return files, nil
}

func makeOwned(path, owner string, mode uint32) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := unix.Chmod(path, mode); err != nil {
		return err
	}
	uid, gid := ids(owner)
	return os.Chown(path, uid, gid)
}

// ids are a user's numbers, root's if there is no such user.
func ids(name string) (uid, gid int) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0
	}
	uid, err = strconv.Atoi(u.Uid)
	if err != nil {
		return 0, 0
	}
	gid, err = strconv.Atoi(u.Gid)
	if err != nil {
		return 0, 0
	}
	return uid, gid
}

// setSysctls sets the network namespace of the calling thread up, see ip-sysctl.rst.
func setSysctls(forwarding bool) error {
	settings := [][2]string{
		{"net/ipv6/conf/all/disable_ipv6", "0"},
		{"net/ipv6/conf/default/disable_ipv6", "0"},
		{"net/ipv6/conf/all/accept_dad", "0"},
		{"net/ipv6/conf/default/accept_dad", "0"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
	}
	if forwarding {
		settings = append(settings, [2]string{"net/ipv4/ip_forward", "1"}, [2]string{"net/ipv6/conf/all/forwarding", "1"})
	}
	for _, s := range settings {
		if err := os.WriteFile(filepath.Join("/proc/sys", s[0]), []byte(s[1]), 0); err != nil {
			return fmt.Errorf("sysctl: %w", err)
		}
	}
	return nil
}
