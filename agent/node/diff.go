package node

import (
	"cmp"
	"slices"
)

// phases of an application: what is withdrawn goes first, so that nothing is
// announced without its wiring; what is announced comes only after its wiring;
// what is no longer needed goes last (side-effects.md §6.1).
const (
	phaseWithdraw = iota
	phaseWire
	phaseAnnounce
	phaseUnwire
)

func (s Step) phase() int {
	announcement := s.Key.Kind() == KindAnnouncement
	switch {
	case announcement && s.Op == Remove:
		return phaseWithdraw
	case announcement:
		return phaseAnnounce
	case s.Op == Make:
		return phaseWire
	default:
		return phaseUnwire
	}
}

// Diff lists, in the order in which they must be applied, the steps that turn the
// actual state of some objects into the desired one. An object that nobody wants
// is removed only when owns says that it is the agent's.
func Diff(actual State, desired *Desired, keys []Key, owns func(Key, Value) bool) []Step {
	var steps []Step
	for _, key := range keys {
		old, exists := actual[key]
		value, wanted := desired.Value(key)
		switch {
		case wanted && (!exists || old != value):
			steps = append(steps, Step{Make, key, value, old, desired.Owners(key)})
		case !wanted && exists && owns(key, old):
			steps = append(steps, Step{Remove, key, nil, old, nil})
		}
	}
	slices.SortFunc(steps, compareSteps)
	return steps
}

func compareSteps(a, b Step) int {
	if c := cmp.Compare(a.phase(), b.phase()); c != 0 {
		return c
	}
	kind := cmp.Compare(a.Key.Kind(), b.Key.Kind())
	within := cmp.Compare(rank(a), rank(b))
	if a.Op == Remove {
		kind, within = -kind, -within
	}
	return cmp.Or(kind, within, cmp.Compare(a.Key.String(), b.Key.String()))
}

// rank orders objects of one kind: a VRF before what it masters, a route before
// those whose gateway it reaches.
func rank(s Step) int {
	value := s.Value
	if s.Op == Remove {
		value = s.Old
	}
	switch v := value.(type) {
	case DeviceSpec:
		if v.Type != "vrf" {
			return 1
		}
	case RouteSpec:
		if v.Gateway.IsValid() {
			return 1
		}
	}
	return 0
}

// AllKeys are the objects of either state.
func AllKeys(actual State, desired *Desired) []Key {
	keys := desired.Keys()
	for key := range actual {
		if _, wanted := desired.Value(key); !wanted {
			keys = append(keys, key)
		}
	}
	return keys
}
