package text

import (
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	f := Frame{Columns: 20, Lines: 8}
	got := f.Draw("one\ntwo\n", "note")
	if want := "\x1b[Hone\x1b[K\ntwo\x1b[K\n\x1b[K\nnote\x1b[K\n\x1b[J"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.First = true
	if got := f.Draw("one\n", "note"); !strings.HasPrefix(got, "\x1b[2J\x1b[H") {
		t.Errorf("the first frame does not clear the terminal: %q", got)
	}
}

// A frame never fills the terminal, because its lines would move then.
func TestFrameFits(t *testing.T) {
	long := strings.Repeat(strings.Repeat("日x", 40)+"\n", 100)
	for _, colour := range []bool{false, true} {
		f := Frame{Columns: 20, Lines: 8, Options: Options{Colour: colour}}
		got := escape.ReplaceAllString(f.Draw(f.paint(red, long), strings.Repeat("n", 90)), "")
		lines := strings.Split(strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "").Replace(got),
			"\n")
		if len(lines) > f.Lines {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if cells(line) >= f.Columns {
				t.Errorf("%q takes %d columns", line, cells(line))
			}
		}
		if !strings.Contains(got, " more lines") {
			t.Errorf("it does not say that lines are missing: %q", got)
		}
	}
}

// A colour that is cut off ends all the same.
func TestClip(t *testing.T) {
	for line, want := range map[string]string{
		"abc":                "abc",
		"abcd":               "ab…\x1b[0m",
		"\x1b[1mabc\x1b[0m":  "\x1b[1mabc\x1b[0m",
		"\x1b[1mabcd":        "\x1b[1mab…\x1b[0m",
		"a\x1b[1mb\x1b[0mcd": "a\x1b[1mb…\x1b[0m",
	} {
		if got := clip(line, 3); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
