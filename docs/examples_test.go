package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "copy the examples to the pages that show them")

// example is a link to an example, and right below it the code block that shows it.
var example = regexp.MustCompile("(?ms)^\\[(examples/[^\\]]+)\\]\\([^)]*\\)\n\n```\\w+\n(.*?)^```$")

// TestExamples: a page shows an example as it is.
func TestExamples(t *testing.T) {
	shown := 0
	for _, file := range tracked(t, "docs/*.md") {
		text := read(t, file)
		for _, at := range example.FindAllStringSubmatchIndex(text, -1) {
			shown++
			path, block := text[at[2]:at[3]], text[at[4]:at[5]]
			if block != read(t, path) && !*rewrite {
				t.Errorf("%s does not show %s as it is: make docs", file, path)
			}
		}
		if *rewrite {
			copyExamples(t, file, text)
		}
	}
	if shown == 0 {
		t.Error("no page shows an example")
	}
}

func copyExamples(t *testing.T, file, text string) {
	t.Helper()
	copied, from := "", 0
	for _, at := range example.FindAllStringSubmatchIndex(text, -1) {
		copied += text[from:at[4]] + read(t, text[at[2]:at[3]])
		from = at[5]
	}
	if copied += text[from:]; copied == text {
		return
	}
	if err := os.WriteFile(filepath.Join(root, file), []byte(copied), 0o600); err != nil {
		t.Fatal(err)
	}
}
