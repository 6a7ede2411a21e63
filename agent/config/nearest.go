package config

import "strings"

// nearest is the name that a mistyped one is most like, if any is close: two letters
// may differ, of a long name a quarter.
func nearest(typed string, names []string) (string, bool) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	best, least := "", max(2, len(typed)/4)+1
	for _, name := range names {
		if d := distance(plain(typed), plain(name)); d < least {
			best, least = name, d
		}
	}
	return best, best != ""
}

// distance is how many bytes must be inserted, removed or replaced to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
