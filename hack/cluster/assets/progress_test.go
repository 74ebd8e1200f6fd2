package assets

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	for strings.Count(text.String(), "30 of 400 packages (7 %)\n") < 2 {
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
		{812, 1498, packages, "812 of 1498 packages (54 %)"},
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
		"a/a.go":    "package a\n",
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
	order, err := s.compiles(t.Context(), []string{"x", "elsewhere"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.Index(order, "example.org/x/a"); at < 0 || at > slices.Index(order, "example.org/x/b") ||
		order[len(order)-1] != "example.org/x" {
		t.Errorf("packages %v", order)
	}
	for range 2 { // the second time all are cached
		var done tally
		if err := s.build(t.Context(), out, []string{"x"}, &done); err != nil {
			t.Fatal(err)
		}
		if done.done.Load() != int64(len(order)) || done.total.Load() != int64(len(order)) {
			t.Errorf("%s, want all of %d", done.in(packages), len(order))
		}
	}
	if missing := missingFrom(out, []string{"x"}); len(missing) > 0 {
		t.Errorf("%v were not built", missing)
	}
	if err := s.build(t.Context(), out, []string{"bad"}, &tally{}); err == nil || !strings.Contains(err.Error(), "undefined: missing") {
		t.Errorf("a package that does not compile: %v", err)
	}
}
