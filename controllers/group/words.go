package group

import (
	"fmt"
	"slices"
	"strings"
)

// enumerate names a few of many, for people.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// plural returns the word for as many.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// appendNew appends a name unless it is there.
func appendNew(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
