package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

var (
	rewrite = flag.Bool("rewrite", false, "write the goldens of testdata anew")
	look    = flag.String("look", "", "a directory that gets the page of a made-up run, to look at it")
)

// The page of a small run, read from its file, is the golden one, byte for byte.
func TestGolden(t *testing.T) {
	run, err := Read("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/small"
	if *rewrite {
		if err := Write(run, golden); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := Write(run, dir); err != nil {
		t.Fatal(err)
	}
	want, got := tree(t, golden), tree(t, dir)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatal(diff)
	}
	for path := range want {
		if diff := cmp.Diff(want[path], got[path]); diff != "" {
			t.Errorf("%s: look at what changed with go test . -rewrite && git diff\n%s", path, diff)
		}
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A long run makes the same bytes twice, SVG that is XML, and a table in which every strike is
// counted.
func TestLongRun(t *testing.T) {
	run := madeUp(7, 420)
	files, err := Make(run)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Make(madeUp(7, 420))
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("the same run makes another page (%v)", err)
	}
	if len(files) != 1+len(plots) {
		t.Errorf("files: %q", slices.Sorted(maps.Keys(files)))
	}
	for path, data := range files {
		if bad := regexp.MustCompile(`NaN|Inf\b|%!|<no value>|<nil>`).Find(data); bad != nil {
			t.Errorf("%s has %q in it", path, bad)
		}
		if strings.HasSuffix(path, ".svg") {
			wellFormed(t, path, data)
		}
	}
	for name, rows := range map[string][]Row{"fault": byFault(run), "class": byClass(run), "algorithm": byAlgorithm(run)} {
		n := 0
		for _, r := range rows {
			n += r.Strikes
		}
		if n != len(run.Strikes) {
			t.Errorf("by %s: %d strikes of %d", name, n, len(run.Strikes))
		}
	}
	if *look != "" {
		if err := Write(run, *look); err != nil {
			t.Error(err)
		}
	}
}

func wellFormed(t *testing.T, path string, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
	}
}

// A run in which nothing changed has a page without plots, and takes the plots of the page before
// away.
func TestNothingMeasured(t *testing.T) {
	dir := t.TempDir()
	run := madeUp(7, 5)
	if err := Write(run, dir); err != nil {
		t.Fatal(err)
	}
	for i := range run.Strikes {
		run.Strikes[i].Times = report.Times{}
	}
	if err := Write(run, dir); err != nil {
		t.Fatal(err)
	}
	pages := tree(t, dir)
	if len(pages) != 1 {
		t.Errorf("files: %q, want the page alone", slices.Sorted(maps.Keys(pages)))
	}
	for path, data := range pages {
		if strings.HasSuffix(path, ".svg") || strings.Contains(data, ".svg") {
			t.Errorf("a plot of no times: %s", path)
		}
	}
}

// What cannot be a report is refused, and the error says why.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":                    {"seed 42", "not the report of a chaos run"},
		"no groups":                  {`{"seed": 42}`, "nothing ran"},
		"an unknown safety mode":     {`{"groups": [{"name": "a", "safety": "Careful"}]}`, `"Careful"`},
		"a group twice":              {`{"groups": [{"name": "a", "safety": "Classic"}, {"name": "a", "safety": "Guarded"}]}`, "the name a"},
		"an effect before its cause": {`{"groups": [{"name": "a", "safety": "Classic"}], "strikes": [{"group": "a", "times": {"status": -2600}}]}`, "2600 ms before"},
		"a strike of nobody known":   {`{"groups": [{"name": "a", "safety": "Classic"}], "strikes": [{"group": "b"}]}`, `"b"`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "chaos.json")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
