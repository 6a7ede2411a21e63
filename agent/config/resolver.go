package config

import (
	"slices"
	"strings"
)

// resolver finds the value of each option among the files and the environment.
type resolver struct {
	options  []*option
	known    map[place]*option // former places too
	files    [][]assignment
	last     []map[place]assignment // per file: of several values the last
	env      map[string]string
	problems []Problem
	warnings []Warning
}

func newResolver(options []*option, files [][]assignment, env map[string]string) *resolver {
	r := &resolver{options: options, known: map[place]*option{}, files: files, env: env}
	for _, o := range options {
		for _, p := range o.former {
			r.known[p] = o
		}
	}
	for _, o := range options {
		r.known[o.place] = o
	}
	for _, assignments := range files {
		last := map[place]assignment{}
		for _, a := range assignments {
			last[a.place] = a
		}
		r.last = append(r.last, last)
	}
	return r
}

// given is the assignment that decides an option: the environment's, else that of the
// last file that has one, where the option's own place goes before former ones.
func (r *resolver) given(o *option) (assignment, bool) {
	if value, ok := r.env[variable(o.place)]; ok {
		return fromEnvironment(o.place, value), true
	}
	for _, values := range slices.Backward(r.last) {
		for _, p := range append([]place{o.place}, o.former...) {
			if a, ok := values[p]; ok {
				return a, true
			}
		}
	}
	return assignment{}, false
}

// fill sets every option's field.
func (r *resolver) fill(c *Config) {
	for _, o := range r.options {
		value, err := r.text(o, nil)
		if err == nil && (value != "" || !o.optional) {
			err = o.set(c, value)
		}
		if err != nil {
			r.wrong(o, value, err.Error())
		}
	}
}

// wrong records that an option's value cannot be taken.
func (r *resolver) wrong(o *option, value, reason string) {
	a, given := r.given(o)
	if !given {
		a = assignment{place: o.place, file: "default"}
	}
	r.problems = append(r.problems, Problem{
		File: a.file, Line: a.line, Section: a.section, Option: a.name, Value: value, Reason: reason, at: a.at,
	})
}

// wrongAt is wrong for a value that is fine by itself.
func (r *resolver) wrongAt(p place, reason string) {
	o := r.known[p]
	value, err := r.text(o, nil)
	if err != nil {
		return // told already
	}
	r.wrong(o, value, reason)
}

// isGiven tells whether an option has a value other than by default.
func (r *resolver) isGiven(p place) bool {
	_, given := r.given(r.known[p])
	return given
}

func (r *resolver) caution(a assignment, option, text string) {
	r.warnings = append(r.warnings, Warning{
		File: a.file, Line: a.line, Section: a.section, Option: option, Text: text, at: a.at,
	})
}

func (r *resolver) sortedWarnings() []Warning {
	slices.SortStableFunc(r.warnings, func(a, b Warning) int { return a.at.compare(b.at) })
	return r.warnings
}

// hasSection tells whether a section has options, and its name as it should be.
func (r *resolver) hasSection(name string) bool {
	return slices.ContainsFunc(r.options, func(o *option) bool { return o.section == name })
}

// same tells whether two texts mean the same value of any type.
func same(a, b string) bool {
	x, errX := boolean(a)
	y, errY := boolean(b)
	return strings.EqualFold(a, b) || errX == nil && errY == nil && x == y
}
