package state

import (
	"fmt"
	"slices"
	"strings"
)

// Diff is what changed from a to b, by section: lines that went begin with "-",
// lines that came with "+". Equal states have an empty difference.
func Diff(a, b State) string {
	var out strings.Builder
	for _, name := range sectionNames() {
		var changes []string
		for _, line := range without(a[name], b[name]) {
			changes = append(changes, "-"+line)
		}
		for _, line := range without(b[name], a[name]) {
			changes = append(changes, "+"+line)
		}
		if len(changes) == 0 && !slices.Equal(a[name], b[name]) {
			changes = []string{" (the same lines in another order)"}
		}
		if len(changes) > 0 {
			fmt.Fprintf(&out, "# %s\n%s\n", name, strings.Join(changes, "\n"))
		}
	}
	return out.String()
}

// without are the lines of a that b has not, each as often as it is missing.
func without(a, b []string) []string {
	count := map[string]int{}
	for _, line := range b {
		count[line]++
	}
	var missing []string
	for _, line := range a {
		if count[line]--; count[line] < 0 {
			missing = append(missing, line)
		}
	}
	return missing
}
