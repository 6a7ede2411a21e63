package exposure

import (
	"maps"
	"reflect"
	"slices"

	"ovn-bgp-agent/agent/ovsdb"
)

// Engine keeps a driver's results in step with a store. Every computation reads
// through a view that notes what it read; a change re-runs exactly those that
// read something which the change touched. Results of the intermediate kinds are
// themselves things that can be read, so a change that does not alter a network
// does not reach the network's ports.
type Engine struct {
	driver  Driver
	store   *ovsdb.Store
	results map[key]any
	reads   map[key]map[ovsdb.Dep]struct{}
	readers map[ovsdb.Dep]map[key]struct{}
	runs    int
}

// kind orders computations: one reads only results of lower kinds.
type kind int

const (
	kindNetwork kind = iota
	kindBase
	kindPort
)

// key names a computation.
type key struct {
	kind kind
	name string
}

// factTable is the name under which results are noted as read.
const factTable = "derived"

func (k key) dep() ovsdb.Dep {
	return ovsdb.Dep{Table: factTable, Index: string(rune('0' + k.kind)), Value: k.name}
}

// NewEngine returns an engine that has derived nothing yet.
func NewEngine(d Driver, s *ovsdb.Store) *Engine {
	return &Engine{
		driver: d, store: s,
		results: map[key]any{}, reads: map[key]map[ovsdb.Dep]struct{}{}, readers: map[ovsdb.Dep]map[key]struct{}{},
	}
}

// Update re-derives what a change of the store concerns; touched is what
// [ovsdb.Store.Apply] returned. It returns the UUIDs of the ports whose decisions
// may differ, and whether the base did.
func (e *Engine) Update(touched []ovsdb.Dep) (ports []string, base bool) {
	dirty := map[key]struct{}{}
	e.mark(dirty, touched)
	if _, known := e.results[key{kind: kindBase}]; !known {
		dirty[key{kind: kindBase}] = struct{}{}
	}
	for k := kindNetwork; k <= kindPort; k++ {
		for _, computation := range ofKind(dirty, k) {
			if !e.run(computation) {
				continue
			}
			e.mark(dirty, []ovsdb.Dep{computation.dep()})
			switch k {
			case kindPort:
				ports = append(ports, computation.name)
			case kindBase:
				base = true
			}
		}
	}
	return ports, base
}

// mark adds to dirty who read one of the things touched, and the rows of ports.
func (e *Engine) mark(dirty map[key]struct{}, touched []ovsdb.Dep) {
	for _, dep := range touched {
		for reader := range e.readers[dep] {
			dirty[reader] = struct{}{}
		}
		if dep.Table == e.driver.PortTable && dep.Index == "" {
			dirty[key{kindPort, dep.Value}] = struct{}{}
		}
	}
}

func ofKind(dirty map[key]struct{}, k kind) []key {
	var keys []key
	for computation := range dirty {
		if computation.kind == k {
			keys = append(keys, computation)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return keys
}

// run performs a computation again and tells whether its result differs.
func (e *Engine) run(k key) bool {
	e.runs++
	if k.kind == kindNetwork && len(e.readers[k.dep()]) == 0 {
		e.forget(k)
		return false
	}
	v := e.store.View()
	var result any
	switch k.kind {
	case kindNetwork:
		result = e.driver.Network(v, k.name)
	case kindBase:
		result = e.driver.Base(v)
	case kindPort:
		result = e.driver.Port(v, k.name, func(name string) Network { return e.network(v, name) })
	}
	old := e.results[k]
	e.record(k, result, v.Reads())
	return !sameResult(old, result)
}

// sameResult: no decisions are no decisions, whether a port was looked at or not.
func sameResult(old, result any) bool {
	if decisions, ok := result.([]Decision); ok && len(decisions) == 0 {
		before, _ := old.([]Decision)
		return len(before) == 0
	}
	return reflect.DeepEqual(old, result)
}

// network reads the result about a network, deriving it if nobody has yet.
func (e *Engine) network(v *ovsdb.View, name string) Network {
	k := key{kindNetwork, name}
	v.Note(k.dep())
	if _, known := e.results[k]; !known {
		own := e.store.View()
		e.record(k, e.driver.Network(own, name), own.Reads())
	}
	return e.results[k].(Network)
}

func (e *Engine) record(k key, result any, reads map[ovsdb.Dep]struct{}) {
	e.forget(k)
	if k.kind == kindPort && !e.store.Has(e.driver.PortTable, k.name) {
		return
	}
	e.results[k], e.reads[k] = result, reads
	for dep := range reads {
		if e.readers[dep] == nil {
			e.readers[dep] = map[key]struct{}{}
		}
		e.readers[dep][k] = struct{}{}
	}
}

func (e *Engine) forget(k key) {
	for dep := range e.reads[k] {
		delete(e.readers[dep], k)
		if len(e.readers[dep]) == 0 {
			delete(e.readers, dep)
		}
	}
	delete(e.reads, k)
	delete(e.results, k)
}

// Base is what the base wiring needs, as of the last update.
func (e *Engine) Base() Base {
	base, _ := e.results[key{kind: kindBase}].(Base)
	return base
}

// Port returns the decisions about a port, as of the last update.
func (e *Engine) Port(uuid string) []Decision {
	decisions, _ := e.results[key{kindPort, uuid}].([]Decision)
	return decisions
}

// Ports are the ports about which something was decided.
func (e *Engine) Ports() []string {
	var ports []string
	for k := range maps.Keys(e.results) {
		if k.kind == kindPort && len(e.Port(k.name)) > 0 {
			ports = append(ports, k.name)
		}
	}
	return ports
}

// Runs counts the computations made so far: what a change cost.
func (e *Engine) Runs() int { return e.runs }
