package manager

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A manager whose cluster has an older definition of groups persists nothing by halves: the API
// server refuses what it cannot keep, no roster is handed out, and the group's events say what to
// do. With the right definition it goes on.
func TestOlderDefinition(t *testing.T) {
	t.Run("applied", func(t *testing.T) { olderDefinition(t, newGroup(t, newNamespace(t))) })
	t.Run("in a patch", func(t *testing.T) { // somebody else owns a field of the status
		group := newGroup(t, newNamespace(t))
		group.Status.Running = "0/1"
		must(t, kube.Status().Update(bg, group, client.FieldOwner("velero")))
		olderDefinition(t, group)
	})
}

func olderDefinition(t *testing.T, group *v1.ElectionGroup) {
	t.Helper()
	namespace := group.Namespace
	newPod(t, namespace, 0)
	current := define(t, func(map[string]any) {})
	t.Cleanup(func() { define(t, func(crd map[string]any) { crd["spec"] = current["spec"] }) })
	define(t, func(crd map[string]any) {
		versions := crd["spec"].(map[string]any)["versions"].([]any)
		unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status",
			"properties", "roster", "properties", "digest")
	})
	eventually(t, "the older definition in use", func() bool { return refuses(t, group) })

	board := &handedOut{}
	groups := newGroups(t, kube, board)
	_, err := groups.Reconcile(bg, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(group)})
	if err == nil || !strings.Contains(err.Error(), "is older than the manager: apply the one of the manager's version") {
		t.Errorf("%v", err)
	}
	if said := <-groups.Recorder.(*events.FakeRecorder).Events; !strings.HasPrefix(said, "Warning DefinitionOutdated ") {
		t.Errorf("the event says %q", said)
	}
	if now := groupIn(t, namespace); now.Status.Roster != nil || len(board.rosters) > 0 {
		t.Errorf("persisted is %+v, handed out are %d rosters", now.Status.Roster, len(board.rosters))
	}

	define(t, func(crd map[string]any) { crd["spec"] = current["spec"] })
	eventually(t, "the definition of this tree in use", func() bool { return !refuses(t, group) })
	reconcileOnce(t, kube, board, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(group)})
	if len(board.rosters) != 1 {
		t.Errorf("handed out are %d rosters, want 1", len(board.rosters))
	}
}

// define edits the definition of groups, and returns it.
func define(t *testing.T, edit func(crd map[string]any)) map[string]any {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	must(t, kube.Get(bg, client.ObjectKey{Name: "electiongroups.podesta.dev"}, crd))
	as := client.MergeFrom(crd.DeepCopy()) // an Update could meet a conflict: the API server writes the status
	edit(crd.Object)
	must(t, kube.Patch(bg, crd, as))
	return crd.DeepCopy().Object
}

// refuses reports whether the API server's definition has no digest.
func refuses(t *testing.T, group *v1.ElectionGroup) bool {
	t.Helper()
	content := map[string]any{
		"apiVersion": v1.GroupVersion.String(),
		"kind":       "ElectionGroup",
		"metadata":   map[string]any{"namespace": group.Namespace, "name": group.Name},
		"status":     map[string]any{"roster": map[string]any{"generation": int64(1), "digest": "x"}},
	}
	err := kube.Status().Apply(bg, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}),
		client.FieldOwner("probe"), client.DryRunAll)
	return err != nil && strings.Contains(err.Error(), "field not declared in schema")
}
