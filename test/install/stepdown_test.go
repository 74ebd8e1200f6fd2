package install

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWhoMayAskForAStepDown: to change a group is not enough to have its coordinator step down; the roles edit and admin have the
// verb for it.
func TestWhoMayAskForAStepDown(t *testing.T) {
	namespace := newNamespace(t)
	editor := person(t, "jane", "podesta-electiongroup-editor", namespace)
	admin := person(t, "anna", "podesta-electiongroup-admin", namespace)
	_, err := kubectl("create", "role", "annotator", "-n", namespace, "--resource=electiongroups.podesta.dev",
		"--verb=get,list,watch,create,update,patch")
	must(t, err)
	_, err = kubectl("create", "rolebinding", "mary", "-n", namespace, "--role=annotator", "--user=mary")
	must(t, err)
	annotator := user(t, "mary")
	awaitStepDownPolicy(t, annotator, namespace)
	const needs = "sets or changes the annotation podesta.dev/step-down needs the verb step-down on electiongroups.podesta.dev in namespace "
	annotate := func(value string) string {
		return `{"metadata":{"annotations":{"podesta.dev/step-down":` + value + `}}}`
	}
	for name, test := range map[string]struct {
		by    client.Client
		has   string // the annotation before; empty: none
		patch string
		says  string
	}{
		"who may annotate asks":            {annotator, "", annotate(`"{}"`), needs + namespace},
		"who may annotate changes it":      {annotator, "{}", annotate(`"{ }"`), needs + namespace},
		"who may annotate empties it":      {annotator, "{}", annotate(`""`), needs + namespace},
		"who may annotate takes it away":   {annotator, "{}", annotate(`null`), ""},
		"who may annotate says the same":   {annotator, "{}", annotate(`"{}"`), ""},
		"who may annotate edits all else":  {annotator, "{}", `{"metadata":{"annotations":{"note":"x"}},"spec":{"algorithm":"ChangRoberts"}}`, ""},
		"who may annotate, with an edit":   {annotator, "", `{"metadata":{"annotations":{"podesta.dev/step-down":"{}"}},"spec":{"algorithm":"ChangRoberts"}}`, needs},
		"who may annotate, without either": {annotator, "", `{"spec":{"algorithm":"ChangRoberts"}}`, ""},
		"an editor asks":                   {editor, "", annotate(`"{}"`), ""},
		"an editor changes it":             {editor, "{}", annotate(`"{ }"`), ""},
		"an admin asks":                    {admin, "", annotate(`"{}"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			group := &v1.ElectionGroup{ObjectMeta: named(namespace, "")}
			group.GenerateName = "group-"
			if test.has != "" {
				group.Annotations = map[string]string{v1.StepDownAnnotation: test.has}
			}
			must(t, kube.Create(t.Context(), group))
			check(t, test.by.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(test.patch))), test.says)
		})
	}
	made := &v1.ElectionGroup{ObjectMeta: named(namespace, "made")}
	made.Annotations = map[string]string{v1.StepDownAnnotation: "{}"}
	check(t, annotator.Create(t.Context(), made.DeepCopy()), needs)
	check(t, editor.Create(t.Context(), made.DeepCopy()), "")
}

// awaitStepDownPolicy waits until the API server has taken up the policy.
func awaitStepDownPolicy(t *testing.T, annotator client.Client, namespace string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		group := &v1.ElectionGroup{ObjectMeta: named(namespace, "probe")}
		group.Annotations = map[string]string{v1.StepDownAnnotation: "{}"}
		err := annotator.Create(ctx, group, client.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) {
			return false, err
		}
		return err != nil, nil
	})
	if err != nil {
		t.Fatalf("the policy podesta-step-down does not come into force: %v", err)
	}
}
