package membership

import (
	"cmp"
	"strings"
)

// CompareNames orders names as people count: scheduler-2 before scheduler-10. It is total: names
// that differ only in leading zeros are ordered byte by byte. It is the order of a roster and of
// the ring.
func CompareNames(a, b string) int {
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
