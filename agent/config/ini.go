package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is where an option stands.
type place struct{ section, name string }

// assignment is a value given to an option in a file or the environment.
type assignment struct {
	place
	value string
	file  string
	line  int // of its first line
	at    position
}

// parser reads the INI dialect of oslo.config, which differs from others:
// a value keeps "#" and ";" after text, an indented line continues the value, blank
// lines and comments end it, "=" or ":" separates, whichever comes first, one pair of
// quotes around the first line is stripped, and there is no quoting inside.
type parser struct {
	file        string
	index       int // of the file among all
	line        int
	section     string
	unnamed     bool // the section's header could not be read
	pending     *assignment
	assignments []assignment
	problems    []Problem
}

// parseINI reads a file's text. It goes on after what it cannot read.
func parseINI(file string, index int, text string) ([]assignment, []Problem) {
	p := &parser{file: file, index: index}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		p.line++
		p.take(strings.TrimRightFunc(line, unicode.IsSpace))
	}
	p.flush()
	return p.assignments, p.problems
}

func (p *parser) take(line string) {
	switch {
	case !utf8.ValidString(line):
		p.flush()
		p.fail("not UTF-8 text")
	case line == "":
		p.flush()
	case line[0] == ' ' || line[0] == '\t':
		p.continueValue(strings.TrimLeftFunc(line, unicode.IsSpace))
	case line[0] == '[':
		p.flush()
		p.beginSection(line)
	case line[0] == '#' || line[0] == ';':
		p.flush()
	default:
		p.flush()
		p.assign(line)
	}
}

func (p *parser) continueValue(line string) {
	if p.pending == nil {
		p.fail(fmt.Sprintf("an indented line continues a value, but there is none above %q", line))
		return
	}
	p.pending.value += "\n" + line
}

func (p *parser) beginSection(line string) {
	p.section, p.unnamed = "", true
	switch {
	case !strings.HasSuffix(line, "]"):
		p.fail(fmt.Sprintf("a section must end with ]: %q", line))
	case line == "[]":
		p.fail("a section without name")
	default:
		p.section, p.unnamed = normalSection(line[1:len(line)-1]), false
	}
}

// normalSection is how sections are compared: any case, but for DEFAULT.
func normalSection(name string) string {
	if name == defaultSection {
		return name
	}
	return strings.ToLower(name)
}

func (p *parser) assign(line string) {
	separator := strings.IndexAny(line, "=:")
	if separator < 0 {
		p.fail(fmt.Sprintf("neither = nor : in %q", line))
		return
	}
	key := strings.TrimSpace(line[:separator])
	switch {
	case key == "":
		p.fail(fmt.Sprintf("no option before %q", line[separator:]))
	case p.section == "" && !p.unnamed:
		p.fail(fmt.Sprintf("option %s stands before the first section", key))
	case p.section != "":
		p.pending = &assignment{
			place: place{p.section, key}, value: unquote(strings.TrimSpace(line[separator+1:])),
			file: p.file, line: p.line, at: position{p.index, p.line},
		}
	}
}

// unquote strips one pair of equal quotes; a lone quote counts as a pair.
func unquote(value string) string {
	if value == "" || value[0] != value[len(value)-1] || value[0] != '"' && value[0] != '\'' {
		return value
	}
	if len(value) == 1 {
		return ""
	}
	return value[1 : len(value)-1]
}

func (p *parser) flush() {
	if p.pending != nil {
		p.assignments = append(p.assignments, *p.pending)
		p.pending = nil
	}
}

func (p *parser) fail(reason string) {
	p.problems = append(p.problems, Problem{File: p.file, Line: p.line, Reason: reason, at: position{p.index, p.line}})
}
