package main

import (
	"slices"
	"testing"
)

func TestWordsAreSplitAsInAShell(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  redis-server   --port 6379\t", []string{"redis-server", "--port", "6379"}},
		{`sh -c 'echo "a b"; exit'`, []string{"sh", "-c", `echo "a b"; exit`}},
		{`a"b c"d ''`, []string{"ab cd", ""}},
		{`"\"\\\$\x" \a\ b`, []string{`"\$\x`, "a b"}},
		{`'\'`, []string{`\`}},
		{"$HOME *", []string{"$HOME", "*"}},
	} {
		if got, err := words(c.line); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{`'`, `a "b`, `a\`} {
		if got, err := words(line); err == nil {
			t.Errorf("%s: %q, want an error", line, got)
		}
	}
}
