package assets

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestALongStepShowsHowFarItIs(t *testing.T) {
	hears, says := io.Pipe()
	p := newProgress(says)
	p.every = time.Millisecond
	ended := make(chan error, 1)
	heard := make(chan struct{})
	go func() {
		ended <- p.step("compiling etcd", packages, func(done *tally) error {
			done.done.Store(30)
			done.total.Store(400)
			<-heard
			return errors.New("no compiler")
		})
		_ = says.Close()
	}()
	var text strings.Builder
	buffer := make([]byte, 1000)
	for strings.Count(text.String(), "30 of 400 packages and programs (7 %)\n") < 2 {
		n, err := hears.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(buffer[:n])
	}
	close(heard)
	go func() { _, _ = io.Copy(io.Discard, hears) }()
	if err := <-ended; err == nil || err.Error() != "no compiler" {
		t.Errorf("error %v", err)
	}
}

func TestTalliesInWords(t *testing.T) {
	for _, tc := range []struct {
		done, total int64
		unit        unit
		want        string
	}{
		{0, 0, modules, "0 modules"},
		{12, 0, modules, "12 modules"},
		{812, 1498, packages, "812 of 1498 packages and programs (54 %)"},
		{41_900_000, 83_800_000, megabytes, "41 of 83 MB (50 %)"},
	} {
		var done tally
		done.done.Store(tc.done)
		done.total.Store(tc.total)
		if got := done.in(tc.unit); got != tc.want {
			t.Errorf("%d of %d: %q, want %q", tc.done, tc.total, got, tc.want)
		}
	}
}

// A module of three packages, built by the real Go.
func TestABuildCountsPackages(t *testing.T) {
	src, out := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module example.org/x\n\ngo 1.26.0\n",
		"a/a.go":    "package a // " + rand.Text() + "\n", // nobody has compiled it yet
		"b/b.go":    "package b\n\nimport _ \"example.org/x/a\"\n",
		"main.go":   "package main\n\nimport _ \"example.org/x/b\"\n\nfunc main() {}\n",
		"bad/ba.go": "package main\n\nfunc main() { missing() }\n",
	} {
		file := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := source{dir: src, packages: map[string]string{"x": "example.org/x", "bad": "example.org/x/bad"}}
	for _, compiled := range []bool{false, true} {
		stale, err := s.stale(t.Context(), []string{"x", "elsewhere"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		delete(stale, "example.org/x") // it is linked each time
		if stale["example.org/x/a"] == compiled || stale["example.org/x/b"] == compiled {
			t.Errorf("to compile: %v", stale)
		}
		var done tally
		if err := s.build(t.Context(), out, []string{"x"}, &done); err != nil {
			t.Fatal(err)
		}
		if all := int64(len(stale) + 1); done.done.Load() != all || done.total.Load() != all {
			t.Errorf("%s, want all of %d", done.in(packages), all)
		}
	}
	if missing := missingFrom(out, []string{"x"}); len(missing) > 0 {
		t.Errorf("%v were not built", missing)
	}
	if err := s.build(t.Context(), out, []string{"bad"}, &tally{}); err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("a package that does not compile: %v", err)
	}
}
