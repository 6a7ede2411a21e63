package config

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// The names under which configuration is searched: the project's, which is not the
// command's, then the command's.
var searched = [...]string{"bgp-agent", "ovn-bgp-agent"}

// The socket of a packaged Open vSwitch, and that of a self-built one, which is the
// other agent's default (config.md C5).
const (
	packagedOVS  = "/run/openvswitch/db.sock"
	selfBuiltOVS = "/usr/local/var/run/openvswitch/db.sock"
)

// host is the file system that is looked at.
type host struct{ root string } // root is put before fixed paths

// read reads all files that the sources name; what each assigns, in order.
func (h host) read(s Sources) ([][]assignment, []Problem) {
	paths, problems := h.paths(s)
	var files [][]assignment
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			problems = append(problems, unreadable(path, i, err))
			continue
		}
		assignments, wrong := parseINI(path, i, string(text))
		files = append(files, assignments)
		problems = append(problems, wrong...)
	}
	return files, problems
}

func unreadable(path string, index int, err error) Problem {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return Problem{File: path, Reason: "cannot be read: " + err.Error(), at: position{file: index}}
}

// paths lists the files to read, in order. Files and directories are searched for
// independently, as oslo.config does.
func (h host) paths(s Sources) ([]string, []Problem) {
	home := homeOf(s.Env)
	files, dirs := s.Files, s.Dirs
	if len(files) == 0 {
		files = h.search(home, ".conf")
	}
	if len(dirs) == 0 {
		dirs = h.search(home, ".conf.d")
	}
	var paths []string
	var problems []Problem
	for _, f := range files {
		paths = append(paths, expand(f, home))
	}
	for _, d := range dirs {
		found, err := confFiles(expand(d, home))
		if err != nil {
			problems = append(problems, unreadable(expand(d, home), len(paths), err))
		}
		paths = append(paths, found...)
	}
	return paths, problems
}

// search finds the first of each name.
func (h host) search(home, extension string) []string {
	etc := filepath.Join(h.root, "/etc")
	places := []string{filepath.Join(home, ".bgp-agent"), home, filepath.Join(etc, "bgp-agent"), etc}
	var found []string
	for _, name := range searched {
		for _, dir := range places {
			path := filepath.Join(dir, name+extension)
			if exists(path) {
				found = append(found, path)
				break
			}
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// homeOf is the user's home; a service without HOME has one in the password file.
func homeOf(env []string) string {
	for _, variable := range env {
		if home, ok := strings.CutPrefix(variable, "HOME="); ok {
			return home
		}
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return "/"
}

func expand(path, home string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}

// confFiles lists the *.conf of a directory, sorted, as a shell's pattern would.
func confFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".conf") && name[0] != '.' {
			files = append(files, filepath.Join(dir, name))
		}
	}
	slices.Sort(files)
	return files, nil
}

// environment are the variables that may be meant for options, by name.
func environment(env []string) map[string]string {
	found := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "OS_") && strings.Contains(name, "__") {
			found[name] = value
		}
	}
	return found
}

// variable is the environment variable of an option.
func variable(p place) string {
	return "OS_" + strings.ToUpper(p.section) + "__" + strings.ToUpper(p.name)
}

// fromEnvironment is the assignment that a variable makes.
func fromEnvironment(p place, value string) assignment {
	return assignment{place: p, value: value, file: "environment " + variable(p), at: position{file: math.MaxInt}}
}

// complete settles the default that depends on the node.
func (h host) complete(c *Config) {
	if c.OVSDBConnection != "" {
		return
	}
	c.OVSDBConnection = "unix:" + packagedOVS
	if !exists(filepath.Join(h.root, packagedOVS)) && exists(filepath.Join(h.root, selfBuiltOVS)) {
		c.OVSDBConnection = "unix:" + selfBuiltOVS
	}
}
