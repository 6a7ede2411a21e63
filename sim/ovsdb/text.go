package ovsdb

import (
	"fmt"
	"strings"
)

// valueText is a value as error messages and index keys show it.
func valueText(d datum) string {
	if d.values == nil && len(d.keys) == 1 {
		return fmt.Sprint(d.keys[0])
	}
	open, shut := "[", "]"
	if d.values != nil {
		open, shut = "{", "}"
	}
	parts := make([]string, len(d.keys))
	for i, k := range d.keys {
		parts[i] = fmt.Sprint(k)
		if d.values != nil {
			parts[i] += fmt.Sprintf("=%v", d.values[i])
		}
	}
	return open + strings.Join(parts, ", ") + shut
}
