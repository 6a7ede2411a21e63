package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// warn tells what is ignored or deprecated, each once.
func (r *resolver) warn() {
	told := map[place]bool{}
	once := func(p place) bool {
		first := !told[p]
		told[p] = true
		return first
	}
	for _, assignments := range r.files {
		for _, a := range assignments {
			r.warnOf(a, once)
		}
	}
	r.warnEnvironment()
	r.warnIdle()
}

func (r *resolver) warnOf(a assignment, once func(place) bool) {
	o := r.known[a.place]
	switch {
	case o != nil && o.place != a.place:
		if once(a.place) {
			r.caution(a, a.name, fmt.Sprintf("deprecated here, write it as %s in [%s]", o.name, o.section))
		}
	case o != nil:
	case !r.hasSection(a.section):
		if once(place{section: a.section}) {
			r.caution(a, "", "unknown section, ignored"+r.sectionLike(a.section))
		}
	case once(a.place):
		r.caution(a, a.name, "unknown option, ignored"+r.optionLike(a.place))
	}
}

// warnEnvironment tells of variables for a section of the agent, but no option of it.
func (r *resolver) warnEnvironment() {
	options := map[string]bool{}
	sections := map[string]string{}
	for _, o := range r.options {
		options[variable(o.place)] = true
		sections[strings.ToUpper(o.section)] = o.section
	}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		group, option, _ := strings.Cut(strings.TrimPrefix(name, "OS_"), "__")
		section, ours := sections[group]
		if !ours || options[name] {
			continue
		}
		p := place{section, strings.ToLower(option)}
		a := fromEnvironment(p, r.env[name])
		a.file = "environment " + name
		r.caution(a, p.name, "unknown option, ignored"+r.optionLike(p))
	}
}

// warnIdle tells of options whose value asks for something that this agent does not
// do.
func (r *resolver) warnIdle() {
	for _, o := range r.options {
		if a, given := r.given(o); given && o.idle != "" && !same(a.value, o.fallback) {
			r.caution(a, a.name, "has no effect: "+o.idle)
		}
	}
}

// cautionAt warns at the place where an option got its value.
func (r *resolver) cautionAt(p place, text string) {
	a, given := r.given(r.known[p])
	if !given {
		a = assignment{place: p, file: "default"}
	}
	r.caution(a, p.name, text)
}

// sectionLike suggests the section that may have been meant.
func (r *resolver) sectionLike(name string) string {
	var names []string
	for _, o := range r.options {
		names = append(names, o.section)
	}
	if best, ok := nearest(name, names); ok {
		return fmt.Sprintf("; is [%s] meant?", best)
	}
	return ""
}

// optionLike suggests the option that may have been meant: the same one in another
// section, else the one with the nearest name in this section.
func (r *resolver) optionLike(p place) string {
	var names []string
	for _, o := range r.options {
		if o.name == p.name && o.section != p.section {
			return fmt.Sprintf("; it belongs in [%s]", o.section)
		}
		if o.section == p.section {
			names = append(names, o.name)
		}
	}
	if best, ok := nearest(p.name, names); ok {
		return fmt.Sprintf("; is %s meant?", best)
	}
	return ""
}
