package display

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzPrintable: whatever is given, the result is printable text of at most as many characters, and
// to write it again changes nothing.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "scheduler-4", "a\x1b[2Jb", "\u009b31m", "\xff", "e\u0301", "日本"} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, given string, most int) {
		most = 1 + max(most, -most, 0)%300
		got := Printable(given, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most {
			t.Fatalf("%q: %q", given, got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) || unicode.Is(unicode.M, r) {
				t.Fatalf("%q: %q", given, got)
			}
		}
		if again := Printable(got, most); again != got {
			t.Fatalf("%q: %q, then %q", given, got, again)
		}
	})
}
