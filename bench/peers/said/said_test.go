package said

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{"17 names p3", "17 names", "17 leads", "17 ceases"} {
		l, err := Parse(text)
		if err != nil || l.At != 17 || l.String() != text {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{"", "17", "x leads", "-1 leads", "0 leads", "17 leads p1", "17 ceases p1",
		"17 names p1 p2", "17 rules", "leads 17"} {
		if l, err := Parse(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, l)
		}
	}
}

// What is no news is not said.
func TestSpeaker(t *testing.T) {
	var out strings.Builder
	s := NewSpeaker(&out)
	s.Ceases(1)
	s.Names("")
	s.Names("p1")
	s.Names("p1")
	s.Leads(3)
	s.Leads(4)
	s.Ceases(5)
	s.Ceases(6)
	s.Names("")
	want := []Word{Names, Leads, Ceases, Names}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i, text := range lines {
		l, err := Parse(text)
		if err != nil || l.Word != want[i] {
			t.Errorf("%q, %v, want %s", text, err, want[i])
		}
		if l.Word == Leads && l.At != 3 || l.Word == Ceases && l.At != 5 {
			t.Errorf("%q: want it stamped 3 or 5", text)
		}
	}
}
