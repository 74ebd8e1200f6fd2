package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestEveryValueIsDocumented: values.yaml, values.schema.json and the chart's README speak of the
// same values.
func TestEveryValueIsDocumented(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	must(t, err)
	var schema map[string]any
	must(t, json.Unmarshal(content, &schema))
	described := map[string]bool{}
	describe(t, "", schema, described)
	delete(described, "global")  // Helm's own
	delete(described, "enabled") // the condition of a chart that depends on this one

	output, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	must(t, err)
	var defaults map[string]any
	must(t, yaml.Unmarshal(output, &defaults))
	values := map[string]bool{}
	leaves("", described, defaults, values)
	readme, err := os.ReadFile(filepath.Join(chart, "README.md"))
	must(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(readme)) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			listed[name] = true
		}
	}
	if difference := cmp.Diff(described, values); difference != "" {
		t.Errorf("- values.schema.json, + values.yaml\n%s", difference)
	}
	if difference := cmp.Diff(described, listed); difference != "" {
		t.Errorf("- values.schema.json, + README.md\n%s", difference)
	}
}

// describe collects the values that a schema knows, each by its path, and fails for those without a
// description.
func describe(t *testing.T, path string, schema map[string]any, described map[string]bool) {
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range properties {
		property, ok := value.(map[string]any)
		if !ok || property["description"] == nil {
			t.Errorf("%s%s has no description", path, name)
			continue
		}
		if property["properties"] == nil {
			described[path+name] = true
			continue
		}
		describe(t, path+name+".", property, described)
	}
}

// leaves collects the paths of values, down to those that the schema knows as a whole.
func leaves(path string, whole map[string]bool, values map[string]any, found map[string]bool) {
	for name, value := range values {
		inner, deeper := value.(map[string]any)
		if deeper && !whole[path+name] {
			leaves(path+name+".", whole, inner, found)
			continue
		}
		found[path+name] = true
	}
}
