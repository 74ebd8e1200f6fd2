package roster

import "strings"

// versionMarks are what a version may have beside letters and digits: what semantic versions,
// image tags and Go's own versions, such as (devel), are made of.
const versionMarks = ".-_+~/:@()"

// isVersion reports whether a version may be shown to people: nothing in it controls a terminal or
// looks like something else.
func isVersion(s string) bool {
	return len(s) <= maxWord && all(s, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte(versionMarks, c) >= 0
	})
}
