package agent

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"ovn-bgp-agent/agent/status"
	"ovn-bgp-agent/agent/wiring"
)

// problems are what is wrong at present, by name. A problem is logged once when it
// comes up or changes, and once when it is gone.
type problems struct {
	log   *slog.Logger
	known map[string]problem
}

type problem struct {
	group string
	text  string
	since time.Time
}

func newProblems(log *slog.Logger) *problems { return &problems{log, map[string]problem{}} }

func (p *problems) set(name, text string) { p.setIn("", name, text) }

func (p *problems) setIn(group, name, text string) {
	if known, ok := p.known[name]; ok && known.text == text {
		return
	}
	p.known[name] = problem{group, text, time.Now()}
	p.log.Error(text, "problem", name)
}

func (p *problems) clear(name string) {
	if known, ok := p.known[name]; ok {
		delete(p.known, name)
		p.log.Info("no longer: "+known.text, "problem", name)
	}
}

// replace makes a group's problems exactly those given.
func (p *problems) replace(group string, found []wiring.Problem) {
	present := map[string]bool{}
	for _, f := range found {
		present[f.Name] = true
		p.setIn(group, f.Name, f.Text)
	}
	for name, known := range p.known {
		if known.group == group && !present[name] {
			p.clear(name)
		}
	}
}

// list is every problem by name.
func (p *problems) list() []status.Problem {
	var list []status.Problem
	for name, known := range p.known {
		list = append(list, status.Problem{Name: name, Text: known.text, Since: known.since})
	}
	slices.SortFunc(list, func(a, b status.Problem) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
