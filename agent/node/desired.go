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
//
// Many owners may share an object; a change of one owner costs the same however
// many there are, unless it is the owner whose value stands.
type Desired struct {
	byOwner map[Owner]map[Key]Value
	byKey   map[Key]*claims
}

// claims are who wants one object.
type claims struct {
	owners map[Owner]Value
	lowest Owner
	values map[Value]int // how many owners want each value
}

// Set replaces everything that an owner wants; nothing removes the owner. It
// returns the objects that must be looked at: those whose wanted value differs now,
// or about which owners begin or cease to disagree.
func (d *Desired) Set(owner Owner, wants []Want) []Key {
	if d.byOwner == nil {
		d.byOwner, d.byKey = map[Owner]map[Key]Value{}, map[Key]*claims{}
	}
	next := make(map[Key]Value, len(wants))
	for _, w := range wants {
		next[w.Key] = w.Value
	}
	var changed []Key
	for key := range d.byOwner[owner] {
		if _, stays := next[key]; !stays && d.drop(owner, key) {
			changed = append(changed, key)
		}
	}
	for key, value := range next {
		if old, had := d.byOwner[owner][key]; had && old == value {
			continue
		}
		if d.claim(owner, key, value) {
			changed = append(changed, key)
		}
	}
	if len(next) == 0 {
		delete(d.byOwner, owner)
	} else {
		d.byOwner[owner] = next
	}
	return changed
}

// claim has an owner want a value of an object; it tells whether the object must be
// looked at.
func (d *Desired) claim(owner Owner, key Key, value Value) bool {
	c := d.byKey[key]
	if c == nil {
		d.byKey[key] = &claims{map[Owner]Value{owner: value}, owner, map[Value]int{value: 1}}
		return true
	}
	before, disputed := c.owners[c.lowest], len(c.values) > 1
	c.forget(owner)
	c.owners[owner] = value
	c.values[value]++
	if owner < c.lowest {
		c.lowest = owner
	}
	return c.owners[c.lowest] != before || disputed || len(c.values) > 1
}

// drop ends an owner's claim of an object; it tells whether the object must be
// looked at.
func (d *Desired) drop(owner Owner, key Key) bool {
	c := d.byKey[key]
	before, disputed := c.owners[c.lowest], len(c.values) > 1
	c.forget(owner)
	if len(c.owners) == 0 {
		delete(d.byKey, key)
		return true
	}
	if owner == c.lowest {
		c.lowest = slices.Min(slices.Collect(maps.Keys(c.owners)))
	}
	return c.owners[c.lowest] != before || disputed
}

func (c *claims) forget(owner Owner) {
	value, had := c.owners[owner]
	if !had {
		return
	}
	delete(c.owners, owner)
	if c.values[value]--; c.values[value] == 0 {
		delete(c.values, value)
	}
}

// Value is the wanted value of an object: that of its lowest owner.
func (d *Desired) Value(key Key) (Value, bool) {
	c := d.byKey[key]
	if c == nil {
		return nil, false
	}
	return c.owners[c.lowest], true
}

// Owners are those who want an object, in order.
func (d *Desired) Owners(key Key) []Owner {
	c := d.byKey[key]
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.owners))
}

// Keys are all wanted objects, in no order.
func (d *Desired) Keys() []Key { return slices.Collect(maps.Keys(d.byKey)) }

// Wants are the objects of an owner, in no order.
func (d *Desired) Wants(owner Owner) []Key { return slices.Collect(maps.Keys(d.byOwner[owner])) }

// Conflicts lists the disagreements about some objects.
func (d *Desired) Conflicts(keys []Key) []Conflict {
	var conflicts []Conflict
	for _, key := range keys {
		c := d.byKey[key]
		if c == nil || len(c.values) < 2 {
			continue
		}
		for _, other := range d.Owners(key)[1:] {
			if mine, theirs := c.owners[c.lowest], c.owners[other]; mine != theirs {
				conflicts = append(conflicts, Conflict{key, c.lowest, other, mine, theirs})
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
