package durable

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// Each new directory survives because the one above it was synced.
func TestNewDirectoriesSurvive(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "b", "c")
	var synced []string
	sync := func(dir string) error { synced = append(synced, dir); return nil }
	if err := makeDirectory(path, sync); err != nil {
		t.Fatal(err)
	}
	if want := []string{root, filepath.Join(root, "b")}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
	failed := errors.New("input/output error")
	sync = func(string) error { return failed }
	if err := makeDirectory(filepath.Join(path, "d"), sync); !errors.Is(err, failed) {
		t.Errorf("a directory that was not synced: %v", err)
	}
}
