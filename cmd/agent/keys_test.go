package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeKeys runs `agent keys` for a group of one process.
func makeKeys(t *testing.T, dir, process string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "roster.json")
	text := `{"group": "g", "safety": "Classic", "processes": [{"name": "` + process + `", "priority": 1}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return run([]string{"keys", "--roster", file, "--out", dir})
}

// No process takes the authority's place.
func TestNoProcessIsTheAuthority(t *testing.T) {
	dir := t.TempDir()
	if err := makeKeys(t, dir, "ca"); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Errorf("%v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// An authority of which a file is missing is not replaced: agents would not trust each other.
func TestNoAuthorityIsReplaced(t *testing.T) {
	for _, lost := range []string{"ca.key", "ca.crt"} {
		dir := t.TempDir()
		if err := makeKeys(t, dir, "a"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, lost)); err != nil {
			t.Fatal(err)
		}
		err := makeKeys(t, dir, "a")
		if err == nil || !strings.Contains(err.Error(), lost+": no such file") ||
			!strings.Contains(err.Error(), "or remove both") {
			t.Errorf("without %s: %v", lost, err)
		}
		if _, err := os.Stat(filepath.Join(dir, lost)); err == nil {
			t.Errorf("%s is another one", lost)
		}
	}
}
