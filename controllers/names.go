package controllers

import (
	"cmp"
	"fmt"
	"strings"
)

// compareNatural orders names as people count: scheduler-2 before scheduler-10. It is total: names that differ only in
// leading zeros are ordered byte by byte.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		var order int
		if isDigit(x[0]) && isDigit(y[0]) {
			var m, n string
			m, x = cutNumber(x)
			n, y = cutNumber(y)
			order = cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n))
		} else {
			order = cmp.Compare(x[0], y[0])
			x, y = x[1:], y[1:]
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// cutNumber cuts the number off the front of s, without its leading zeros.
func cutNumber(s string) (number, rest string) {
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	return strings.TrimLeft(s[:end], "0"), s[end:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// enumerate names a few of many, for people.
func enumerate(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// be is the verb for as many.
func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// do is the auxiliary verb for as many.
func do(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}
