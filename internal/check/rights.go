package check

import "strings"

// Right is something that a person, or the manager, is to be allowed.
type Right struct {
	Verb, Group, Resource, Subresource, Name string
	// Namespace is where; empty: in the whole cluster.
	Namespace string
}

// String is the right as kubectl auth can-i takes it.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " -n " + r.Namespace
	}
	return text
}

// Installing returns what a person needs to install Podesta in a namespace. Who gives the manager
// rights that he may not have himself needs escalate for its roles, and bind for their bindings.
func Installing(system string) []Right {
	const rbac, policies = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
	var needed []Right
	for _, r := range []Right{
		{Resource: "namespaces"},
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Group: rbac, Resource: "clusterroles"},
		{Group: rbac, Resource: "clusterrolebindings"},
		{Group: policies, Resource: "validatingadmissionpolicies"},
		{Group: policies, Resource: "validatingadmissionpolicybindings"},
		{Group: rbac, Resource: "roles", Namespace: system},
		{Group: rbac, Resource: "rolebindings", Namespace: system},
		{Resource: "serviceaccounts", Namespace: system},
		{Resource: "services", Namespace: system},
		{Group: "apps", Resource: "deployments", Namespace: system},
		{Group: "policy", Resource: "poddisruptionbudgets", Namespace: system},
		{Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: system},
	} {
		for _, verb := range []string{"create", "patch"} { // kubectl apply --server-side needs both
			r.Verb = verb
			needed = append(needed, r)
		}
	}
	return append(needed,
		Right{Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		Right{Verb: "bind", Group: rbac, Resource: "clusterroles"},
		Right{Verb: "escalate", Group: rbac, Resource: "roles", Namespace: system},
		Right{Verb: "bind", Group: rbac, Resource: "roles", Namespace: system})
}

// ServiceAccount is the name of the manager's.
const ServiceAccount = "podesta-manager"

// Managing returns what the manager needs, the rules of config/rbac as single rights.
func Managing(system string) (needed []Right) {
	const events, own, leases = "events.k8s.io", "podesta.dev", "coordination.k8s.io"
	for _, rule := range []struct {
		verbs string
		Right
	}{
		{"create", Right{Resource: "configmaps"}},
		{"delete list patch watch", Right{Resource: "configmaps", Name: "podesta-trust"}},
		{"get list patch watch", Right{Resource: "pods"}},
		{"create delete get list patch watch", Right{Resource: "services"}},
		{"create", Right{Group: "authentication.k8s.io", Resource: "tokenreviews"}},
		{"create", Right{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}},
		{"create patch", Right{Group: events, Resource: "events"}},
		{"list watch", Right{Group: own, Resource: "electiongroups"}},
		{"patch", Right{Group: own, Resource: "electiongroups", Subresource: "status"}},

		{"create patch", Right{Resource: "events", Namespace: system}},
		{"create", Right{Resource: "secrets", Namespace: system}},
		{"get update", Right{Resource: "secrets", Name: "podesta-ca", Namespace: system}},
		{"create", Right{Group: leases, Resource: "leases", Namespace: system}},
		{"get update", Right{Group: leases, Resource: "leases", Name: "podesta-manager",
			Namespace: system}},
	} {
		for verb := range strings.FieldsSeq(rule.verbs) {
			rule.Verb = verb
			needed = append(needed, rule.Right)
		}
	}
	return needed
}

func (b *book) mayInstall(f *Facts) {
	b.section = "rights"
	const check = "you may install Podesta"
	if unread(b, f.Missing, check) {
		return
	}
	b.judge(check, Failed, lacking("you lack", f.Missing.Value),
		"Install as somebody who has these "+
			"rights: the ClusterRole cluster-admin has them.")
}

func lacking(who string, rights []Right) string {
	if len(rights) == 0 {
		return ""
	}
	names := make([]string, 0, len(rights))
	for _, r := range rights {
		names = append(names, r.String())
	}
	return who + ": " + strings.Join(names, "; ")
}
