package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Want is an object that an owner wants, with its value.
type Want struct {
	Key   Key
	Value Value
}

// Conflict says that owners want different values of one object; the lowest
// owner's value stands.
type Conflict struct {
	Key        Key
	Owner      Owner // whose value stands
	Other      Owner
	Value      Value
	OtherValue Value
}

// Desired is what all owners together want. An object stays as long as any
// owner wants it. The zero value is empty and ready to use.
type Desired struct {
	byOwner map[Owner]map[Key]Value
	byKey   map[Key]map[Owner]Value
}

// Set replaces everything that an owner wants; nothing removes the owner. It
// returns the objects concerned: those that the owner wanted or wants now with
// another value or not before.
func (d *Desired) Set(owner Owner, wants []Want) []Key {
	if d.byOwner == nil {
		d.byOwner, d.byKey = map[Owner]map[Key]Value{}, map[Key]map[Owner]Value{}
	}
	next := make(map[Key]Value, len(wants))
	for _, w := range wants {
		next[w.Key] = w.Value
	}
	var changed []Key
	for key := range d.byOwner[owner] {
		if _, stays := next[key]; !stays {
			d.drop(owner, key)
			changed = append(changed, key)
		}
	}
	for key, value := range next {
		if old, had := d.byOwner[owner][key]; had && old == value {
			continue
		}
		if d.byKey[key] == nil {
			d.byKey[key] = map[Owner]Value{}
		}
		d.byKey[key][owner] = value
		changed = append(changed, key)
	}
	if len(next) == 0 {
		delete(d.byOwner, owner)
	} else {
		d.byOwner[owner] = next
	}
	return changed
}

func (d *Desired) drop(owner Owner, key Key) {
	delete(d.byKey[key], owner)
	if len(d.byKey[key]) == 0 {
		delete(d.byKey, key)
	}
}

// Value is the wanted value of an object: that of its lowest owner.
func (d *Desired) Value(key Key) (Value, bool) {
	owners := d.byKey[key]
	if len(owners) == 0 {
		return nil, false
	}
	return owners[lowest(owners)], true
}

func lowest(owners map[Owner]Value) Owner {
	first := true
	var low Owner
	for o := range owners {
		if first || o < low {
			low, first = o, false
		}
	}
	return low
}

// Owners are those who want an object, in order.
func (d *Desired) Owners(key Key) []Owner { return slices.Sorted(maps.Keys(d.byKey[key])) }

// Keys are all wanted objects, in no order.
func (d *Desired) Keys() []Key { return slices.Collect(maps.Keys(d.byKey)) }

// Wants are the objects of an owner, in no order.
func (d *Desired) Wants(owner Owner) []Key { return slices.Collect(maps.Keys(d.byOwner[owner])) }

// Conflicts lists the disagreements about some objects.
func (d *Desired) Conflicts(keys []Key) []Conflict {
	var conflicts []Conflict
	for _, key := range keys {
		owners := d.Owners(key)
		for _, other := range owners[min(1, len(owners)):] {
			mine, theirs := d.byKey[key][owners[0]], d.byKey[key][other]
			if mine != theirs {
				conflicts = append(conflicts, Conflict{key, owners[0], other, mine, theirs})
			}
		}
	}
	slices.SortFunc(conflicts, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Other, b.Other))
	})
	return conflicts
}

// String describes the conflict in one line.
func (c Conflict) String() string {
	return fmt.Sprintf("%s: %q wants %v and %q wants %v; the first stands", c.Key, c.Owner, c.Value, c.Other, c.OtherValue)
}
