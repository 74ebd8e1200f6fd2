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

// request is an operator's request in an annotation, for which a policy asks a verb of its own.
type request struct{ annotation, verb, policy string }

// needs is what the policy says to who does not have the verb.
func (r request) needs() string {
	return "to set or change the annotation " + r.annotation + " you need the verb " + r.verb +
		" on electiongroups.podesta.dev in namespace "
}

// annotate is a patch that sets the annotation to a JSON value.
func (r request) annotate(value string) string {
	return `{"metadata":{"annotations":{"` + r.annotation + `":` + value + `}}}`
}

// edit is a patch that changes something else, and sets the annotation too if value is not empty.
func (r request) edit(value string) string {
	if value == "" {
		return `{"spec":{"algorithm":"ChangRoberts"}}`
	}
	return `{"metadata":{"annotations":{"` + r.annotation + `":` + value + `}},"spec":{"algorithm":"ChangRoberts"}}`
}

// patched is what comes of a patch by somebody to a group whose annotation has a value already.
type patched struct {
	by    client.Client
	has   string // the annotation before; empty: none
	patch string
	says  string // empty: it is allowed
}

func (r request) test(t *testing.T, namespace string, tests map[string]patched) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := &v1.ElectionGroup{ObjectMeta: named(namespace, "")}
			group.GenerateName = "group-"
			if test.has != "" {
				group.Annotations = map[string]string{r.annotation: test.has}
			}
			must(t, kube.Create(t.Context(), group))
			check(t, test.by.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(test.patch))), test.says)
		})
	}
}

// group is one that is made with the request.
func (r request) group(namespace, name string) *v1.ElectionGroup {
	g := &v1.ElectionGroup{ObjectMeta: named(namespace, name)}
	g.Annotations = map[string]string{r.annotation: "{}"}
	return g
}

// awaitPolicy waits until the API server has taken up the policy, which refuses who lacks the verb.
func (r request) awaitPolicy(t *testing.T, lacks client.Client, namespace string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := lacks.Create(ctx, r.group(namespace, "probe"), client.DryRunAll)
		if err != nil && !apierrors.IsForbidden(err) {
			return false, err
		}
		return err != nil, nil
	})
	if err != nil {
		t.Fatalf("the policy %s does not come into force: %v", r.policy, err)
	}
}

// person returns a client with the rights of a role of dist/install.yaml in a namespace.
func person(t *testing.T, name, role, namespace string) client.Client {
	t.Helper()
	bind(t, getGroups(name, namespace), "rolebinding", name, "-n", namespace, "--clusterrole="+role, "--user="+name)
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
