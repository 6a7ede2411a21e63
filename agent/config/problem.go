package config

import (
	"cmp"
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	File    string // or "environment" and the variable
	Line    int    // from 1; 0: concerns the whole file, or the environment
	Section string // empty: the file could not be read or parsed there
	Option  string
	Value   string // after substitution of $names
	Reason  string

	at position
}

// Error implements error.
func (p Problem) Error() string {
	if p.Option == "" {
		return fmt.Sprintf("%s: %s", where(p.File, p.Line), p.Reason)
	}
	text := fmt.Sprintf("%s: [%s] %s = %s: %s", where(p.File, p.Line), p.Section, p.Option, shown(p.Value), p.Reason)
	if strings.Contains(p.Value, "\n") {
		text += " (an indented line continues the value above it)"
	}
	return text
}

// Warning is something that is ignored, or should be written otherwise.
type Warning struct {
	File    string // or "environment" and the variable
	Line    int    // from 1; 0 for the environment
	Section string
	Option  string // empty: the whole section
	Text    string

	at position
}

// String is the warning as one line.
func (w Warning) String() string {
	subject := "[" + w.Section + "]"
	if w.Option != "" {
		subject += " " + w.Option
	}
	return fmt.Sprintf("%s: %s: %s", where(w.File, w.Line), subject, w.Text)
}

func where(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// shown quotes a value only if it would be misread otherwise.
func shown(value string) string {
	if value == "" || strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' }) {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// position orders what is told by where it stands: files as they were read, lines,
// then the environment.
type position struct{ file, line int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line))
}
