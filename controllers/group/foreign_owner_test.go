package group

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// owned is an entry of managedFields.
func owned(manager string, operation metav1.ManagedFieldsOperationType,
	fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager:    manager,
		Operation:  operation,
		APIVersion: v1.GroupVersion.String(),
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(fields),
	}
}

const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate

// The cache keeps who else owns fields of a status. Of what a label is called it takes no notice.
func TestGroupFields(t *testing.T) {
	const roster = `{"f:status":{"f:roster":{"f:digest":{}}}}`
	for _, c := range []struct {
		what  string
		entry metav1.ManagedFieldsEntry
		kept  bool
	}{
		{"what the manager applies", owned("podesta-roster", apply, roster), false},
		{"and the other part", owned("podesta-status", apply, `{"f:status":{"f:ready":{}}}`), false},
		{"a restored backup", owned("velero", update, roster), true},
		{"an edit of a condition", owned("kubectl-edit", update, `{"f:status":{"f:conditions":{}}}`), true},
		{"somebody who applies", owned("flux", apply, roster), true},
		{"the manager's patches", owned("podesta-roster", update, roster), true},
		{"a spec", owned("kubectl", apply, `{"f:spec":{"f:safety":{}}}`), false},
		{"a label", owned("kubectl", apply, `{"f:metadata":{"f:labels":{"f:status":{}}}}`), false},
		{"what nobody can read", owned("kubectl", apply, `{"f:`), true},
		{"nothing", metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: apply}, false},
	} {
		spec := owned("argocd", apply, `{"f:spec":{}}`)
		group := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{spec, c.entry},
		}}
		for range 2 { // the cache does it again to what it has
			if _, err := GroupFields(group); err != nil {
				t.Fatal(err)
			}
			if kept := len(group.ManagedFields) == 1; kept != c.kept || len(group.ManagedFields) > 1 {
				t.Errorf("%s: kept is %+v", c.what, group.ManagedFields)
			}
			if c.kept && group.ManagedFields[0].FieldsV1.GetRawString() != anyOfStatus {
				t.Errorf("%s: the fields are kept: %+v", c.what, group.ManagedFields)
			}
		}
	}
	if _, err := GroupFields(&v1.ElectionGroupList{}); err == nil {
		t.Error("a list is taken for a group")
	}
}

// patchStatus notes a patch of a status: by whom, on which state, and what it says.
func (w *writes) patchStatus(_ context.Context, _ client.Client, _ string, object client.Object,
	patch client.Patch, options ...client.SubResourcePatchOption) error {
	o := (&client.SubResourcePatchOptions{}).ApplyOptions(options)
	if o.FieldValidation != metav1.FieldValidationStrict {
		return fmt.Errorf("fields are validated %q", o.FieldValidation)
	}
	text, err := patch.Data(object)
	if err != nil {
		return err
	}
	w.patches = append(w.patches, string(text))
	if err := w.note("patch by " + o.FieldManager); err != nil {
		return err
	}
	object.SetResourceVersion(strconv.Itoa(w.version))
	return nil
}

// MC1: also where somebody else owns fields of the status, a roster is persisted on top of what was
// observed, of this very group, before any agent is told; and a member that is gone is left out,
// whoever owns it.
func TestWhatAnotherOwnsIsReplaced(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	r, w := writing(t, s)
	s.statusAt = s.now
	s.applies(t, r)
	s.pods = s.pods[1:]
	s.group.ManagedFields = []metav1.ManagedFieldsEntry{owned("velero", update, anyOfStatus)}
	s.group.ResourceVersion = "20"
	s.group.Status = *s.observation.published.DeepCopy()
	w.all, w.version = nil, 20
	s.later(time.Minute)
	s.statusAt = s.now
	s.applies(t, r)
	s.later(time.Minute)
	s.applies(t, r)
	writesOf := func(prefix string) int {
		return slices.IndexFunc(w.all, func(what string) bool { return strings.HasPrefix(what, prefix) })
	}
	if roster := writesOf("patch by podesta-roster"); roster != 0 || writesOf("publish") != 1 ||
		writesOf("patch by podesta-status") < 2 || writesOf("podesta-") >= 0 {
		t.Fatalf("the writes were %q", w.all)
	}
	for i, version := range []string{"20", "21"} {
		if !strings.HasPrefix(w.patches[i], `{"metadata":{"resourceVersion":"`+version+`","uid":"group"},`) {
			t.Errorf("write %d: %s", i, w.patches[i])
		}
	}
	if !strings.Contains(w.patches[0], `"members":[{"name":"p-1"`) ||
		strings.Contains(w.patches[0], `"processes"`) {
		t.Errorf("the roster: %s", w.patches[0])
	}
	if !strings.Contains(w.patches[1], `"processes":[{`) || strings.Contains(w.patches[1], `"p-0"`) ||
		strings.Contains(w.patches[1], `"roster"`) {
		t.Errorf("the status: %s", w.patches[1])
	}
}

// A patch that the definition in the cluster does not allow says what to do.
func TestAnOlderDefinitionRefusesAPatch(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.group.ManagedFields = []metav1.ManagedFieldsEntry{owned("velero", update, anyOfStatus)}
	r, w := writing(t, s)
	w.refuse = func(string) error {
		return fmt.Errorf(`strict decoding error: unknown field "status.roster.digest"`)
	}
	_, _, err := r.apply(t.Context(), s.observation, decide(s.observation))
	if err == nil || !strings.Contains(err.Error(), "is older than the manager") || len(w.all) != 1 {
		t.Errorf("%v after %q", err, w.all)
	}
}
