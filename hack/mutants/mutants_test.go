package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestOperators(t *testing.T) {
	for _, test := range []struct {
		code string
		want string // all mutants of the line, with " | " between
	}{
		{"if a && b() { c++ }", "a instead of a && b() | b() instead of a && b() | without c++"},
		{"return a || b || c", "a || b instead of a || b || c | a instead of a || b | b instead of a || b"},
		{"if ok { return }", "!(ok) instead of ok"},
		{"for c < 9 { }", "c <= 9 instead of c < 9"},
		{"for c >= 9 { }", "c > 9 instead of c >= 9"},
		{"for c != nil { }", "c == nil instead of c != nil"},
		{"d := max(c, 1) - c", "max(c, 1) + c instead of max(c, 1) - c | min instead of max"},
		{"c = d", "without c = d"},
		{"c += d", "without c += d"},
		{"x.send(c)", "without x.send(c)"},
		{"return true", "false instead of true"},
		{"_ = c", ""},
		{"for err != nil { }", ""},
		{"d := make([]int, c+1)", ""},
		{`s := "a" + b`, ""},
		{"x.log.Info(a && b)", ""},
		{`return fmt.Errorf("%d", a-b)`, ""},
		{"mu.Lock()", ""},
		{"defer x.close(a && b)", ""},
		{"x.metrics.sent.Inc()", ""},
		{"if ok { //mutants:ignore both are right", ""},
	} {
		source := "package p\n\nfunc f() {\n" + test.code
		if strings.Contains(test.code, "ignore") {
			source += "\n}"
		}
		source += "\n}\n"
		found, err := inFile("p", "f.go", []byte(source))
		if err != nil {
			t.Errorf("%s: %v", test.code, err)
		}
		var got []string
		for _, m := range found {
			got = append(got, m.what)
		}
		if all := strings.Join(got, " | "); all != test.want {
			t.Errorf("%s: %q, want %q", test.code, all, test.want)
		}
	}
}

func TestIgnoringNeedsAReason(t *testing.T) {
	_, err := inFile("p", "f.go", []byte("package p\n\nvar a = 1 - 1 //mutants:ignore\n"))
	if err == nil || !strings.Contains(err.Error(), "f.go:3") {
		t.Error(err)
	}
}

// What is named as the core is there.
func TestCore(t *testing.T) {
	t.Chdir("../..")
	for _, c := range core {
		if found, err := inFolder(c.folder, c.files); err != nil || len(found) == 0 {
			t.Errorf("%s: %d mutants, %v", c.folder, len(found), err)
		}
	}
}

func TestAMutantIsKilledOrSurvives(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module p\n\ngo 1.26\n",
		"max_test.go": "package p\n\nimport \"testing\"\n\nfunc TestMax(t *testing.T) {\n\tif most(1, 2) != 2 {\n\t\tt.Fail()\n\t}\n}\n",
		"max.go": "package p\n\nfunc most(a, b int) int {\n\tif a < b {\n\t\ta = b\n\t}\n\treturn a\n}\n\n" +
			"func never(a int) int { return -1 - a }\n\nvar flag = !true\n\nfunc f() { var b bool; b = !b }\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := inFolder(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := tryAll(t.Context(), all, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, string(r.verdict)+" "+r.what)
	}
	slices.Sort(got)
	want := []string{
		"SURVIVED -1 + a instead of -1 - a",
		"SURVIVED a <= b instead of a < b",
		"invalid without b = !b",
		"killed without a = b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text, survived := report(results, len(all))
	if survived != 2 || !regexp.MustCompile(`max.go:4: a <= b`).MatchString(text) {
		t.Errorf("%d survived:\n%s", survived, text)
	}
}
