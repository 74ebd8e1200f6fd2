package install

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// person returns a client with the rights of a role of dist/install.yaml in a namespace.
func person(t *testing.T, name, role, namespace string) client.Client {
	t.Helper()
	_, err := kubectl("create", "rolebinding", name, "-n", namespace, "--clusterrole="+role, "--user="+name)
	must(t, err)
	return user(t, name)
}

// user returns a client of a user who is in no group of the cluster's own.
func user(t *testing.T, name string) client.Client {
	t.Helper()
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	c, err := client.New(impersonating, client.Options{Scheme: kube.Scheme()})
	must(t, err)
	return c
}

// TestWhoMayForget: to edit a group is not enough to have its voters forgotten, which can have two processes act at once.
func TestWhoMayForget(t *testing.T) {
	namespace := newNamespace(t)
	editor := person(t, "jane", "podesta-electiongroup-editor", namespace)
	admin := person(t, "anna", "podesta-electiongroup-admin", namespace)
	awaitForgetPolicy(t, editor, namespace)
	const needs = "sets or changes the annotation podesta.dev/forget needs the verb forget on electiongroups.podesta.dev in namespace "
	annotate := func(value string) string { return `{"metadata":{"annotations":{"podesta.dev/forget":` + value + `}}}` }
	for name, test := range map[string]struct {
		by    client.Client
		has   string // the annotation before; empty: none
		patch string
		says  string
	}{
		"an editor asks":                   {editor, "", annotate(`"{}"`), needs + namespace},
		"an editor changes a request":      {editor, "{}", annotate(`"{ }"`), needs + namespace},
		"an editor empties it":             {editor, "{}", annotate(`""`), needs + namespace},
		"an editor takes it away":          {editor, "{}", annotate(`null`), ""},
		"an editor edits all else":         {editor, "{}", `{"metadata":{"annotations":{"note":"x"}},"spec":{"algorithm":"ChangRoberts"}}`, ""},
		"an editor says the same":          {editor, "{}", annotate(`"{}"`), ""},
		"an editor, without a request":     {editor, "", `{"spec":{"algorithm":"ChangRoberts"}}`, ""},
		"an editor, together with an edit": {editor, "", `{"metadata":{"annotations":{"podesta.dev/forget":"{}"}},"spec":{"algorithm":"ChangRoberts"}}`, needs},
		"an admin asks":                    {admin, "", annotate(`"{}"`), ""},
		"an admin changes a request":       {admin, "{}", annotate(`"{ }"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			group := &v1.ElectionGroup{ObjectMeta: named(namespace, "")}
			group.GenerateName = "group-"
			if test.has != "" {
				group.Annotations = map[string]string{v1.ForgetAnnotation: test.has}
			}
			must(t, kube.Create(t.Context(), group))
			check(t, test.by.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(test.patch))), test.says)
		})
	}
	made := &v1.ElectionGroup{ObjectMeta: named(namespace, "made")}
	made.Annotations = map[string]string{v1.ForgetAnnotation: "{}"}
	check(t, editor.Create(t.Context(), made.DeepCopy()), needs)
	check(t, admin.Create(t.Context(), made.DeepCopy()), "")
}

// awaitForgetPolicy waits until the API server has taken up the policy.
func awaitForgetPolicy(t *testing.T, editor client.Client, namespace string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		group := &v1.ElectionGroup{ObjectMeta: named(namespace, "probe")}
		group.Annotations = map[string]string{v1.ForgetAnnotation: "{}"}
		err := editor.Create(ctx, group, client.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) {
			return false, err
		}
		return err != nil, nil
	})
	if err != nil {
		t.Fatalf("the policy podesta-forget does not come into force: %v", err)
	}
}
