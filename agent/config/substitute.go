package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reference is what a value may hold: $$, $name or ${name}, where a name may be that
// of an option or section.option.
var reference = regexp.MustCompile(`\$(?:(\$)|([_A-Za-z][._A-Za-z0-9]*)|\{([_A-Za-z][._A-Za-z0-9]*)\})`)

// text is an option's value with its references replaced; trail are the options
// whose values led here.
func (r *resolver) text(o *option, trail []place) (string, error) {
	raw := o.fallback
	if a, given := r.given(o); given {
		raw = a.value
	}
	if slices.Contains(trail, o.place) {
		return raw, fmt.Errorf("its value refers to itself by way of [%s] %s", o.section, o.name)
	}
	trail = append(trail, o.place)
	raw = strings.ReplaceAll(raw, `\$`, "$$")
	var out strings.Builder
	for {
		m := reference.FindStringSubmatchIndex(raw)
		if m == nil {
			out.WriteString(raw)
			return out.String(), nil
		}
		out.WriteString(raw[:m[0]])
		value, err := r.referred(raw, m, o.section, trail)
		if err != nil {
			return raw, err
		}
		out.WriteString(value)
		raw = raw[m[1]:]
	}
}

// referred is the text in place of a match of reference.
func (r *resolver) referred(raw string, m []int, section string, trail []place) (string, error) {
	if m[2] >= 0 {
		return "$", nil
	}
	name := raw[max(m[4], m[6]):max(m[5], m[7])]
	target := r.lookup(name, section)
	if target == nil {
		return "", fmt.Errorf("it refers to %s, which is no option ($$ stands for a dollar sign)", raw[m[0]:m[1]])
	}
	return r.text(target, trail)
}

// lookup finds the option that a reference in a section means.
func (r *resolver) lookup(name, section string) *option {
	candidates := []place{{section, name}, {defaultSection, name}}
	if group, option, dotted := strings.Cut(name, "."); dotted {
		candidates = []place{{group, option}}
	}
	for _, p := range candidates {
		if o := r.known[p]; o != nil {
			return o
		}
	}
	return nil
}
