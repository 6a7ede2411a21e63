package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	one := write(t, dir, "one.conf", "[DEFAULT]\nbgp_AS = 1\nbgp_AS = 2\nbgp_nic = one\nbgp_vrf = vrf-one\n[ovn]\novn_nb_connection = tcp:1.1.1.1:1\novn_sb_connection = tcp:1.1.1.1:1\n")
	two := write(t, dir, "two.conf", "[DEFAULT]\nbgp_nic = two\novn_nb_connection = tcp:2.2.2.2:2\n")
	write(t, dir, "d/20.conf", "[DEFAULT]\nbgp_vrf = d20\n")
	write(t, dir, "d/10.conf", "[DEFAULT]\nbgp_vrf = d10\nbgp_nic = d10\n")
	write(t, dir, "d/.30.conf", "hidden\n")
	write(t, dir, "d/30.conf~", "backup\n")
	tests := []struct {
		name    string
		sources Sources
		get     func(*Config) any
		want    any
	}{
		{"the last of a file", Sources{Files: []string{one}}, func(c *Config) any { return c.BGPAS }, uint32(2)},
		{"the last file", Sources{Files: []string{one, two}}, func(c *Config) any { return c.BGPNIC }, "two"},
		{"the order of files", Sources{Files: []string{two, one}}, func(c *Config) any { return c.BGPNIC }, "one"},
		{"what later files lack stays", Sources{Files: []string{one, two}}, func(c *Config) any { return c.BGPVRF }, "vrf-one"},
		{"directories after files", Sources{Files: []string{one}, Dirs: []string{dir + "/d"}}, func(c *Config) any { return c.BGPNIC }, "d10"},
		{"directories sorted, without hidden and other files", Sources{Dirs: []string{dir + "/d"}}, func(c *Config) any { return c.BGPVRF }, "d20"},
		{"a home directory", Sources{Dirs: []string{"~/d"}}, func(c *Config) any { return c.BGPVRF }, "d20"},
		{"a deprecated place in a later file", Sources{Files: []string{one, two}}, func(c *Config) any { return c.OVN.NB.Connection[0] }, "tcp:2.2.2.2:2"},
		{"a deprecated place in an earlier file", Sources{Files: []string{two, one}}, func(c *Config) any { return c.OVN.NB.Connection[0] }, "tcp:1.1.1.1:1"},
		{"the environment", Sources{Files: []string{one}, Env: []string{"OS_DEFAULT__BGP_AS=3"}}, func(c *Config) any { return c.BGPAS }, uint32(3)},
		{"the environment, a section", Sources{Files: []string{one}, Env: []string{"OS_OVN__OVN_SB_CONNECTION=tcp:3.3.3.3:3"}}, func(c *Config) any { return c.OVN.SB.Connection[0] }, "tcp:3.3.3.3:3"},
		{"the environment keeps quotes", Sources{Env: []string{"OS_DEFAULT__LOG_FILE='x'"}}, func(c *Config) any { return c.LogFile }, "'x'"},
		{"the environment is substituted", Sources{Env: []string{"OS_DEFAULT__BGP_NIC=${bgp_vrf}x"}}, func(c *Config) any { return c.BGPNIC }, "bgp-vrfx"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.sources.Env = append(test.sources.Env, "HOME="+dir)
			c, _, err := load(test.sources, host{root: root})
			if err != nil {
				t.Fatal(err)
			}
			if got := test.get(c); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestSamePlaceBeforeDeprecated: within one file the option's own place wins.
func TestSamePlaceBeforeDeprecated(t *testing.T) {
	c := mustLoad(t, "[ovn]\novn_nb_connection = tcp:1.1.1.1:1\n[DEFAULT]\novn_nb_connection = tcp:2.2.2.2:2\n")
	if got := c.OVN.NB.Connection[0]; got != "tcp:1.1.1.1:1" {
		t.Errorf("got %s", got)
	}
}

// TestSearch makes the searched places appear one after the other: the first that
// has a file is taken, for each of the two names, files and directories apart.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	home, root := filepath.Join(dir, "home"), filepath.Join(dir, "root")
	nic := func(s Sources) string {
		t.Helper()
		s.Env = []string{"HOME=" + home}
		c, _, err := load(s, host{root: root})
		if err != nil {
			t.Fatal(err)
		}
		return c.BGPNIC
	}
	expect := func(want string) {
		t.Helper()
		if got := nic(Sources{}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, step := range []struct{ path, value string }{
		{"root/etc/bgp-agent.conf", "etc"},
		{"root/etc/bgp-agent/bgp-agent.conf", "etc-project"},
		{"home/bgp-agent.conf", "home"},
		{"home/.bgp-agent/bgp-agent.conf", "home-project"},
		{"root/etc/bgp-agent/ovn-bgp-agent.conf", "command"},
		{"home/.bgp-agent/ovn-bgp-agent.conf", "home-command"},
		{"root/etc/bgp-agent.conf.d/a.conf", "dir"},
		{"root/etc/bgp-agent/ovn-bgp-agent.conf.d/a.conf", "command-dir"},
	} {
		write(t, dir, step.path, "[DEFAULT]\nbgp_nic = "+step.value+"\n")
		expect(step.value)
	}
	write(t, dir, "root/etc/ovn-bgp-agent/bgp-agent.conf", "[DEFAULT]\nbgp_nic = never\n")
	expect("command-dir")
	one := write(t, dir, "one.conf", "[DEFAULT]\nbgp_nic = one\n")
	if got := nic(Sources{Files: []string{one}, Dirs: []string{t.TempDir()}}); got != "one" {
		t.Errorf("with both given, nothing is searched: got %s", got)
	}
	if got := nic(Sources{Files: []string{one}}); got != "command-dir" {
		t.Errorf("directories are searched although a file is given: got %s", got)
	}
}

// TestDefaultOVSDB: the packaged socket, unless only the self-built one exists
// (config.md C5).
func TestDefaultOVSDB(t *testing.T) {
	root := t.TempDir()
	get := func() string {
		c, _, err := load(Sources{Env: []string{"HOME=" + root}}, host{root: root})
		if err != nil {
			t.Fatal(err)
		}
		return c.OVSDBConnection
	}
	if got := get(); got != "unix:/run/openvswitch/db.sock" {
		t.Errorf("none exists: %s", got)
	}
	write(t, root, selfBuiltOVS, "")
	if got := get(); got != "unix:/usr/local/var/run/openvswitch/db.sock" {
		t.Errorf("the self-built one exists: %s", got)
	}
	write(t, root, packagedOVS, "")
	if got := get(); got != "unix:/run/openvswitch/db.sock" {
		t.Errorf("both exist: %s", got)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder.conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	sources := Sources{
		Files: []string{filepath.Join(dir, "none.conf")},
		Dirs:  []string{dir, filepath.Join(dir, "none.d")},
		Env:   []string{"HOME=" + dir},
	}
	_, _, err := load(sources, host{root: dir})
	want := "none.conf: cannot be read: no such file or directory\n" +
		"folder.conf: cannot be read: is a directory\n" +
		"none.d: cannot be read: no such file or directory"
	if got := messages(t, err); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
