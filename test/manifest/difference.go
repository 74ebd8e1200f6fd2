package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Other returns the paths of what a manifest has and the live object has not, or has otherwise.
// Fields that only the live object has do not count: GitOps tools do not compare them either.
func Other(inGit, live *unstructured.Unstructured) ([]string, error) {
	wanted, err := decoded(inGit)
	if err != nil {
		return nil, err
	}
	there, err := decoded(live)
	if err != nil {
		return nil, err
	}
	return other(wanted, there, ""), nil
}

// decoded has all numbers as JSON has them: a manifest's and the API server's are of several types.
func decoded(object *unstructured.Unstructured) (value any, err error) {
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return value, json.Unmarshal(text, &value)
}

func other(wanted, there any, path string) (paths []string) {
	switch w := wanted.(type) {
	case map[string]any:
		fields, ok := there.(map[string]any)
		if !ok {
			return []string{path}
		}
		for key, value := range w {
			paths = append(paths, other(value, fields[key], path+"/"+key)...)
		}
	case []any:
		items, ok := there.([]any)
		if !ok || len(items) != len(w) {
			return []string{path}
		}
		for i := range w {
			paths = append(paths, other(w[i], items[i], fmt.Sprintf("%s/%d", path, i))...)
		}
	default:
		if !reflect.DeepEqual(wanted, there) {
			return []string{path}
		}
	}
	return paths
}
