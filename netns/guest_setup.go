package netns

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	defaultMemory = "1024M"
	defaultPath   = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// memoryFolder completes GuestConfig.Memory and finds a folder for the file that backs it: with room for all of it, and mounted so
// that its pages may be executed (the kernel maps its own text from there).
func memoryFolder(c *GuestConfig) (string, error) {
	if c.Memory == "" {
		c.Memory = defaultMemory
	}
	need, err := memoryBytes(c.Memory)
	if err != nil {
		return "", err
	}
	var reasons []error
	for _, dir := range []string{"/dev/shm", os.TempDir()} {
		if err := fitsMemory(dir, need); err != nil {
			reasons = append(reasons, err)
			continue
		}
		return dir, nil
	}
	return "", fmt.Errorf("no folder for the guest's memory (set TMPDIR): %w", errors.Join(reasons...))
}

func fitsMemory(dir string, need uint64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%s: mounted noexec", dir)
	}
	if room := fs.Bavail * uint64(fs.Bsize); room < need {
		return fmt.Errorf("%s: %d MiB free, %d MiB needed", dir, room>>20, need>>20)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s: not writable: %w", dir, err)
	}
	return nil
}

// memoryBytes reads a size with the kernel's suffixes K, M and G.
func memoryBytes(s string) (uint64, error) {
	shift, digits := 0, s
	for suffix, bits := range map[string]int{"K": 10, "M": 20, "G": 30} {
		if d, ok := strings.CutSuffix(strings.ToUpper(s), suffix); ok {
			shift, digits = bits, d
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("memory %q: not a size such as 1024M", s)
	}
	return n << shift, nil
}

// commandScript is the shell text that the guest's init runs.
func commandScript(c GuestConfig) []byte {
	dir := c.Dir
	if dir == "" {
		dir = "/"
	}
	words := []string{"exec", "env", "-i", "PATH=" + defaultPath, "HOME=/root", "TERM=dumb"}
	words = append(words, c.Env...)
	words = append(words, c.Command...)
	for i, w := range words {
		words[i] = quoteWord(w)
	}
	return []byte("cd " + quoteWord(dir) + " || exit 126\n" + strings.Join(words, " ") + "\n")
}

func quoteWord(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// newMark makes the word that introduces the exit status; nothing a program prints by chance is equal to it.
func newMark() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random mark: %w", err)
	}
	return "guest-exit-" + hex.EncodeToString(b[:]), nil
}

func orDiscard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
