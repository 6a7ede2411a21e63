package netns

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// streams are the three consoles of a guest: descriptor 1 (kernel), 3 (the command's standard output) and 4 (its standard error).
type streams struct {
	readers, writers []*os.File
	sinks            []io.Writer
	done             chan error
}

func openStreams(cmd *exec.Cmd, kernel, stdout, stderr io.Writer) (*streams, error) {
	s := &streams{sinks: []io.Writer{kernel, stdout, stderr}, done: make(chan error, 3)}
	for range s.sinks {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("pipe: %w", err), s.abandon())
		}
		s.readers, s.writers = append(s.readers, r), append(s.writers, w)
	}
	cmd.Stdout, cmd.Stderr = s.writers[0], s.writers[0]
	cmd.ExtraFiles = s.writers[1:]
	return s, nil
}

// startReading leaves the write ends to the guest alone, so that its end is the end of the streams.
func (s *streams) startReading() {
	for _, w := range s.writers {
		_ = w.Close()
	}
	for i, r := range s.readers {
		go func() {
			_, err := io.Copy(s.sinks[i], r)
			if err != nil {
				// The guest must not block on a console that nobody reads.
				_, _ = io.Copy(io.Discard, r)
			}
			_ = r.Close()
			s.done <- err
		}()
	}
}

func (s *streams) wait() error {
	var errs []error
	for range s.readers {
		if err := <-s.done; err != nil {
			errs = append(errs, fmt.Errorf("output: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s *streams) abandon() error {
	var errs []error
	for _, f := range append(s.readers, s.writers...) {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// statusIntroducer begins the final line. It is a byte that text does not have: a line end here would be held back at the end of
// every line.
const statusIntroducer = "\x00"

// markedStream passes bytes on at once, except for what may be the beginning of the final line, "\x00<mark> <status>\n".
type markedStream struct {
	to   io.Writer
	mark string
	held []byte // suffix that may still become the final line, or is it
}

func (m *markedStream) Write(p []byte) (int, error) {
	m.held = append(m.held, p...)
	keep := m.suspect()
	if _, err := m.to.Write(m.held[:keep]); err != nil {
		return 0, err
	}
	m.held = append(m.held[:0], m.held[keep:]...)
	return len(p), nil
}

// suspect is the index in held where the final line begins, or could.
func (m *markedStream) suspect() int {
	want := []byte(statusIntroducer + m.mark + " ")
	if i := bytes.Index(m.held, want); i >= 0 {
		return i
	}
	for i := max(0, len(m.held)-len(want)); i < len(m.held); i++ {
		if bytes.HasPrefix(want, m.held[i:]) {
			return i
		}
	}
	return len(m.held)
}

// status is the number of the final line.
func (m *markedStream) status() (int, bool) {
	text, ok := strings.CutPrefix(string(m.held), statusIntroducer+m.mark+" ")
	if !ok {
		return 0, false
	}
	line, _, ok := strings.Cut(text, "\n")
	if !ok {
		return 0, false
	}
	status, err := strconv.Atoi(line)
	return status, err == nil
}

// consoleTail is how much of the kernel's console an error shows, in bytes.
const consoleTail = 4096

// console keeps the end of the kernel's messages, and all of them in a file if there is a folder for it.
type console struct {
	file  *os.File
	text  []byte
	panic string
}

func newConsole(folder string) (*console, error) {
	if folder == "" {
		return &console{}, nil
	}
	f, err := os.Create(filepath.Join(folder, "console.log"))
	if err != nil {
		return nil, fmt.Errorf("console log: %w", err)
	}
	return &console{file: f}, nil
}

func (c *console) Write(p []byte) (int, error) {
	c.text = append(c.text, p...)
	if c.panic == "" {
		c.panic = findPanic(c.text)
	}
	if extra := len(c.text) - consoleTail; extra > 0 {
		c.text = append(c.text[:0], c.text[extra:]...)
	}
	if c.file == nil {
		return len(p), nil
	}
	return c.file.Write(p)
}

func findPanic(text []byte) string {
	i := bytes.Index(text, []byte("Kernel panic - "))
	if i < 0 {
		return ""
	}
	line, _, whole := bytes.Cut(text[i:], []byte("\n"))
	if !whole {
		return ""
	}
	return strings.TrimSpace(string(line))
}

func (c *console) panicLine() (string, bool) { return c.panic, c.panic != "" }

func (c *console) tail() string {
	return strings.TrimSpace(strings.ReplaceAll(string(c.text), "\r", ""))
}

func (c *console) close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
