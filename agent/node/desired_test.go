package node_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"ovn-bgp-agent/agent/node"
)

// Whatever owners come to want and cease to want, the wanted values are those of
// the lowest owners, and every object whose value differs is reported.
func TestDesiredFollowsItsOwners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var desired node.Desired
		plain := map[node.Owner]map[node.Key]node.Value{}
		key := func(i int) node.Key { return node.RTTable{Name: fmt.Sprint("table", i)} }
		wanted := func(k node.Key) (value node.Value, conflicts int) {
			var lowest node.Owner
			for owner, wants := range plain {
				if v, ok := wants[k]; ok && (value == nil || owner < lowest) {
					lowest, value = owner, v
				}
			}
			for _, wants := range plain {
				if v, ok := wants[k]; ok && v != value {
					conflicts++
				}
			}
			return value, conflicts
		}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			before := map[node.Key]node.Value{}
			for i := range 4 {
				before[key(i)], _ = wanted(key(i))
			}
			owner := node.Owner(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"))
			plain[owner] = map[node.Key]node.Value{}
			var wants []node.Want
			for i := range 4 {
				if v := rapid.IntRange(0, 2).Draw(t, "value"); v > 0 {
					wants = append(wants, node.Want{Key: key(i), Value: uint32(v)})
					plain[owner][key(i)] = uint32(v)
				}
			}
			reported := map[node.Key]bool{}
			for _, k := range desired.Set(owner, wants) {
				reported[k] = true
			}
			for i := range 4 {
				want, disagree := wanted(key(i))
				if got, _ := desired.Value(key(i)); got != want {
					t.Fatalf("%s: wanted %v, want %v", key(i), got, want)
				}
				if want != before[key(i)] && !reported[key(i)] {
					t.Fatalf("%s went from %v to %v and was not reported", key(i), before[key(i)], want)
				}
				if got := len(desired.Conflicts([]node.Key{key(i)})); got != disagree {
					t.Fatalf("%s: %d conflicts, want %d", key(i), got, disagree)
				}
			}
		}
	})
}
