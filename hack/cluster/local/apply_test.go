package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestADirectoryIsReadWithoutItsKustomization(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: [b.yaml, a.yaml]\n",
		"b.yaml":             "kind: ConfigMap\nmetadata: {name: third}\n",
		"a.yaml": "# a comment\n---\nkind: ConfigMap\nmetadata: {name: first}\n" +
			"---\nkind: ConfigMap\nmetadata: {name: second}\n",
		"notes.txt": "not YAML: [",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if !slices.Equal(names, []string{"first", "second", "third"}) {
		t.Errorf("objects %v", names)
	}
}

func TestWhatCannotBeAppliedIsRefused(t *testing.T) {
	for want, content := range map[string]string{
		"no objects to apply":   "# nothing\n",
		"needs a kind":          "metadata: {name: x}\n",
		"must not be a list":    "kind: ConfigMapList\nmetadata: {name: x}\n",
		"error converting YAML": "kind: [\n",
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", content, err, want)
		}
	}
	if _, err := read(filepath.Join(t.TempDir(), "nowhere")); !os.IsNotExist(err) {
		t.Errorf("a file that does not exist: %v", err)
	}
}
