package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWhoMayForget: to edit a group is not enough to have its voters forgotten, which can have two
// processes act at once.
func TestWhoMayForget(t *testing.T) {
	namespace := newNamespace(t)
	mayAsk(t, namespace, v1.ForgetAnnotation, "forget", map[string]client.Client{
		"an editor": person(t, "jane", "podesta-electiongroup-editor", namespace),
	}, map[string]client.Client{
		"an admin": person(t, "anna", "podesta-electiongroup-admin", namespace),
	})
}

// TestWhoMayAskForAStepDown: to change a group is not enough to have its coordinator step down; the
// roles edit and admin have the verb for it.
func TestWhoMayAskForAStepDown(t *testing.T) {
	namespace := newNamespace(t)
	_, err := kubectl("create", "role", "annotator", "-n", namespace, "--resource=electiongroups.podesta.dev",
		"--verb=get,list,watch,create,update,patch")
	must(t, err)
	bind(t, getGroups("mary", namespace), "rolebinding", "mary", "-n", namespace, "--role=annotator", "--user=mary")
	mayAsk(t, namespace, v1.StepDownAnnotation, "step-down", map[string]client.Client{
		"who may annotate": user(t, "mary"),
	}, map[string]client.Client{
		"an editor": person(t, "jane", "podesta-electiongroup-editor", namespace),
		"an admin":  person(t, "anna", "podesta-electiongroup-admin", namespace),
	})
}

// mayAsk checks that who lacks a verb may not make a request by an annotation of a group, and that
// who has it may.
func mayAsk(t *testing.T, namespace, annotation, verb string, lack, have map[string]client.Client) {
	needs := "to set or change the annotation " + annotation + " you need the verb " + verb +
		" on electiongroups.podesta.dev in namespace " + namespace
	group := func(value string) *v1.ElectionGroup {
		g := &v1.ElectionGroup{ObjectMeta: named(namespace, "")}
		g.GenerateName = "group-"
		if value != "" {
			g.Annotations = map[string]string{annotation: value}
		}
		return g
	}
	annotate := func(value string) string { return `{"metadata":{"annotations":{"` + annotation + `":` + value + `}}}` }
	const edit = `{"spec":{"algorithm":"ChangRoberts"}}`
	for who, lacks := range lack {
		awaitRefusal(t, lacks, group("{}"))
		for what, test := range map[string]struct{ has, patch, says string }{
			"asks":                  {"", annotate(`"{}"`), needs},
			"changes a request":     {"{}", annotate(`"{ }"`), needs},
			"empties it":            {"{}", annotate(`""`), needs},
			"takes it away":         {"{}", annotate(`null`), ""},
			"says the same":         {"{}", annotate(`"{}"`), ""},
			"edits all else":        {"{}", edit, ""},
			"edits without it":      {"", edit, ""},
			"asks together with it": {"", annotate(`"{}"`)[:len(annotate(`"{}"`))-1] + "," + edit[1:], needs},
		} {
			t.Run(who+" "+what, func(t *testing.T) {
				g := group(test.has)
				must(t, kube.Create(t.Context(), g))
				check(t, lacks.Patch(t.Context(), g, client.RawPatch(types.MergePatchType, []byte(test.patch))), test.says)
			})
		}
		check(t, lacks.Create(t.Context(), group("{}")), needs)
		check(t, lacks.Create(t.Context(), group("")), "")
	}
	for who, has := range have {
		t.Run(who, func(t *testing.T) {
			g := group("{}")
			check(t, has.Create(t.Context(), g), "")
			check(t, has.Patch(t.Context(), g, client.RawPatch(types.MergePatchType, []byte(annotate(`"{ }"`)))), "")
		})
	}
}

// awaitRefusal waits until the API server has taken up the policy, which refuses who lacks the verb.
func awaitRefusal(t *testing.T, lacks client.Client, group *v1.ElectionGroup) {
	t.Helper()
	inForce(t, "the policy", func() error {
		return lacks.Create(t.Context(), group.DeepCopy(), client.DryRunAll)
	})
}

// person returns a client with the rights of a role of dist/install.yaml in a namespace.
func person(t *testing.T, name, role, namespace string) client.Client {
	t.Helper()
	bind(t, getGroups(name, namespace), "rolebinding", name, "-n", namespace, "--clusterrole="+role, "--user="+name)
	return user(t, name)
}

// user returns a client of a user who is in these groups.
func user(t *testing.T, name string, groups ...string) client.Client {
	t.Helper()
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	c, err := client.New(impersonating, client.Options{Scheme: kube.Scheme()})
	must(t, err)
	return c
}
