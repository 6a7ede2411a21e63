package netns

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNodesInTheGuest runs this package's node tests in the guest, as root and as an ordinary user.
func TestNodesInTheGuest(t *testing.T) {
	needGuest(t)
	if raceDetector {
		t.Skip("the race detector's memory layout does not fit the guest")
	}
	// The go command's own folder is closed to other users.
	dir := openFolder(t)
	binary := filepath.Join(dir, "netns.test")
	if out, err := exec.Command("cp", os.Args[0], binary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, user := range []string{"root", "nobody"} {
		t.Run(user, func(t *testing.T) {
			args := []string{binary}
			if user != "root" {
				needRoot(t)
				needProgram(t, "setpriv")
				args = append([]string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = "/"
			cmd.Env = append(os.Environ(), roleVariable+"=boot", "NETNS_TEST_ARTIFACTS="+filepath.Join(openFolder(t), "artifacts"))
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			for _, want := range []string{"--- PASS: TestVRFAndVLANOnANode", "--- PASS: TestTwoNodesWithFRRAndOVSSeeOnlyTheirOwn", "PASS\n"} {
				if !strings.Contains(text, want) {
					t.Errorf("output lacks %q", want)
				}
			}
			t.Log(text)
		})
	}
}

// openFolder is a temporary folder that every user may write to.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "netns-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
