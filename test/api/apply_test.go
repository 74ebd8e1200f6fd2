package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

// TestTwoOwnersOfProcesses: whoever applies a process owns that process only, since the list is
// merged by name.
func TestTwoOwnersOfProcesses(t *testing.T) {
	namespace := newNamespace(t)
	apply := func(owner, process string, priority int32) error {
		group := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"processes": []any{map[string]any{"name": process, "priority": int64(priority)}},
		}}}
		group.SetGroupVersionKind(podestav1.GroupVersion.WithKind("ElectionGroup"))
		group.SetNamespace(namespace)
		group.SetName("scheduler")
		return kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(group), client.FieldOwner(owner))
	}
	steps := []struct {
		owner, process string
		priority       int32
		conflict       bool
		want           []podestav1.Process
	}{
		{"alice", "a", 1, false, []podestav1.Process{{Name: "a", Priority: ptr.To[int32](1)}}},
		{"bob", "b", 2, false, []podestav1.Process{{Name: "a", Priority: ptr.To[int32](1)}, {Name: "b", Priority: ptr.To[int32](2)}}},
		{"alice", "a", 3, false, []podestav1.Process{{Name: "a", Priority: ptr.To[int32](3)}, {Name: "b", Priority: ptr.To[int32](2)}}},
		{"alice", "b", 4, true, []podestav1.Process{{Name: "a", Priority: ptr.To[int32](3)}, {Name: "b", Priority: ptr.To[int32](2)}}},
		{"bob", "c", 5, false, []podestav1.Process{{Name: "a", Priority: ptr.To[int32](3)}, {Name: "c", Priority: ptr.To[int32](5)}}},
	}
	for _, step := range steps {
		err := apply(step.owner, step.process, step.priority)
		if step.conflict != apierrors.IsConflict(err) || !step.conflict && err != nil {
			t.Fatalf("%s applies %s: %v; want a conflict: %v", step.owner, step.process, err, step.conflict)
		}
		group := newGroup(namespace)
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, group.Spec.Processes); diff != "" {
			t.Fatalf("after %s applied %s (-want +got):\n%s", step.owner, step.process, diff)
		}
	}
}
