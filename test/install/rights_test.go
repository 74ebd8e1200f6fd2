package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podesta-dev/podesta/test/envtest"
)

// TestWhatTheManagerMayDo asks the API server what the manager's ServiceAccount may, and what it
// may not.
func TestWhatTheManagerMayDo(t *testing.T) {
	for _, test := range []struct {
		verb, resource, namespace, name string // resource[.group][/subresource]
		allowed                         bool
	}{
		{"watch", "electiongroups.podesta.dev", "", "", true},
		{"patch", "electiongroups.podesta.dev/status", "shop", "", true},
		{"watch", "pods", "", "", true},
		{"patch", "pods", "shop", "", true},
		{"create", "services", "shop", "", true},
		{"create", "configmaps", "shop", "", true},
		{"patch", "configmaps", "shop", "podesta-trust", true},
		{"delete", "configmaps", "shop", "podesta-trust", true},
		{"create", "tokenreviews.authentication.k8s.io", "", "", true},
		{"create", "subjectaccessreviews.authorization.k8s.io", "", "", true},
		{"create", "events.events.k8s.io", "shop", "", true},
		{"get", "secrets", system, "podesta-ca", true},
		{"update", "secrets", system, "podesta-ca", true},
		{"update", "leases.coordination.k8s.io", system, "podesta-manager", true},

		{"*", "*.*", "", "", false},
		{"list", "secrets", "", "", false},
		{"list", "secrets", system, "", false},
		{"watch", "secrets", system, "", false},
		{"get", "secrets", system, "another", false},
		{"update", "secrets", system, "another", false},
		{"delete", "secrets", system, "podesta-ca", false},
		{"get", "secrets", "shop", "podesta-ca", false},
		{"create", "secrets", "shop", "", false},
		{"create", "pods/exec", "shop", "", false},
		{"get", "pods/exec", "shop", "", false},
		{"create", "pods/attach", "shop", "", false},
		{"create", "pods/portforward", "shop", "", false},
		{"patch", "pods/ephemeralcontainers", "shop", "", false},
		{"create", "pods/eviction", "shop", "", false},
		{"patch", "pods/status", "shop", "", false},
		{"get", "pods/log", "shop", "", false},
		{"create", "pods", "shop", "", false},
		{"delete", "pods", "shop", "", false},
		{"patch", "services/status", "shop", "", false},
		{"create", "endpointslices.discovery.k8s.io", "shop", "", false},
		{"list", "configmaps", "", "", false},
		{"get", "configmaps", "shop", "podesta-trust", false}, // it reads from its watch alone
		{"get", "configmaps", "shop", "another", false},
		{"patch", "configmaps", "shop", "another", false},
		{"delete", "configmaps", "shop", "another", false},
		{"get", "electiongroups.podesta.dev", "shop", "", false}, // it reads from its watch alone
		{"patch", "electiongroups.podesta.dev", "shop", "", false},
		{"delete", "electiongroups.podesta.dev", "shop", "", false},
		{"update", "leases.coordination.k8s.io", system, "another", false},
		{"update", "leases.coordination.k8s.io", "kube-system", "podesta-manager", false},
		{"create", "serviceaccounts/token", system, "podesta-manager", false},
		{"impersonate", "users", "", "", false},
		{"escalate", "clusterroles.rbac.authorization.k8s.io", "", "", false},
		{"bind", "clusterroles.rbac.authorization.k8s.io", "", "", false},
		{"patch", "validatingadmissionpolicies.admissionregistration.k8s.io", "", "podesta-manager-pods", false},
		{"patch", "nodes", "", "", false},
	} {
		whole, subresource, _ := strings.Cut(test.resource, "/")
		resource, group, _ := strings.Cut(whole, ".")
		attributes := &authorizationv1.ResourceAttributes{Verb: test.verb, Group: group, Resource: resource,
			Subresource: subresource, Namespace: test.namespace, Name: test.name}
		if allowed := ask(t, account, attributes); allowed != test.allowed {
			t.Errorf("%s %s %s in %q: allowed is %v, want %v", test.verb, test.resource, test.name, test.namespace, allowed, test.allowed)
		}
	}
}

// TestPeoplesRoles: what people may do with groups follows from Kubernetes' own roles view, edit
// and admin. There is no controller here that aggregates them, so the labels are checked, and the
// rights of each role by itself.
func TestPeoplesRoles(t *testing.T) {
	all := installed(t)
	for _, test := range []struct {
		role, aggregate string
		verbs           []string // on electiongroups
		not             []string
	}{
		{"viewer", "view", []string{"get", "list", "watch"}, []string{"create", "patch", "delete", "forget", "step-down"}},
		{"editor", "edit", []string{"get", "list", "watch", "create", "update", "patch", "delete", "step-down"}, []string{"deletecollection", "escalate", "forget"}},
		{"admin", "admin", []string{"get", "create", "delete", "deletecollection", "forget", "step-down"}, nil},
	} {
		role := as[rbacv1.ClusterRole](t, all, "ClusterRole", "podesta-electiongroup-"+test.role)
		if label := "rbac.authorization.k8s.io/aggregate-to-" + test.aggregate; role.Labels[label] != "true" {
			t.Errorf("%s has not the label %s: %v", role.Name, label, role.Labels)
		}
		namespace := newNamespace(t)
		bind(t, getGroups(test.role, namespace), "rolebinding", "person", "-n", namespace, "--clusterrole="+role.Name, "--user="+test.role)
		group := authorizationv1.ResourceAttributes{Group: "podesta.dev", Resource: "electiongroups", Namespace: namespace}
		for _, verb := range append(test.verbs, test.not...) {
			group.Verb = verb
			want := strings.Contains(" "+strings.Join(test.verbs, " ")+" ", " "+verb+" ")
			if allowed := ask(t, test.role, &group); allowed != want {
				t.Errorf("%s: %s groups: allowed is %v, want %v", test.role, verb, allowed, want)
			}
		}
		group.Verb, group.Subresource = "patch", "status"
		if ask(t, test.role, &group) {
			t.Errorf("%s may write the status, which is the manager's", test.role)
		}
	}
}

// TestEveryRuleIsExplained: each rule of the manager's roles has its line in
// docs/reference/manager-rights.md, which says what it is for.
func TestEveryRuleIsExplained(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "docs", "reference", "manager-rights.md"))
	must(t, err)
	page := string(content)
	all := installed(t)
	rules := append(as[rbacv1.ClusterRole](t, all, "ClusterRole", "podesta-manager").Rules,
		as[rbacv1.Role](t, all, "Role", "podesta-manager").Rules...)
	rules = append(rules, as[rbacv1.ClusterRole](t, all, "ClusterRole", "podesta-metrics-auth").Rules...)
	for _, rule := range rules {
		line := "| " + strings.Join(rule.Resources, ", ")
		if len(rule.ResourceNames) > 0 {
			line += " `" + strings.Join(rule.ResourceNames, "`, `") + "`"
		}
		if line += " | " + strings.Join(rule.Verbs, ", ") + " |"; !strings.Contains(page, line) {
			t.Errorf("docs/reference/manager-rights.md does not explain the rule: a line of its table must begin with\n%s", line)
		}
	}
}

// ask is a SubjectAccessReview about a resource.
func ask(t *testing.T, user string, attributes *authorizationv1.ResourceAttributes) bool {
	t.Helper()
	return allowed(t, authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes})
}

func allowed(t *testing.T, asked authorizationv1.SubjectAccessReviewSpec) bool {
	t.Helper()
	asked.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	review := &authorizationv1.SubjectAccessReview{Spec: asked}
	must(t, kube.Create(t.Context(), review))
	return review.Status.Allowed
}

// bind creates a binding with kubectl, and waits until the API server goes by it: until what it
// gives somebody is allowed.
func bind(t *testing.T, gives authorizationv1.SubjectAccessReviewSpec, arguments ...string) {
	t.Helper()
	_, err := kubectl(append([]string{"create"}, arguments...)...)
	must(t, err)
	envtest.Eventually(t, gives.User+" to be allowed what was bound", func() bool { return allowed(t, gives) })
}

// getGroups is what each role for ElectionGroups gives.
func getGroups(user, namespace string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: "get", Group: "podesta.dev", Resource: "electiongroups", Namespace: namespace,
	}}
}
