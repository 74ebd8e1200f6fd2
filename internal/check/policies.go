package check

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/podesta-dev/podesta/internal/display"
)

// Policies are the names of the ValidatingAdmissionPolicies of an installation, and of their
// bindings.
var Policies = []string{"podesta-forget", "podesta-manager-creations", "podesta-manager-pods",
	"podesta-manager-services", "podesta-step-down", "podesta-trust", "podesta-witness"}

// policies checks that what RBAC cannot restrict is restricted.
func (b *book) policies(f *Facts) {
	b.section = "admission policies"
	const check = "the policies of the installation deny what they should"
	if unread(b, f.Policies, check) || unread(b, f.Bindings, check) {
		return
	}
	var wrong []string
	for _, name := range Policies {
		if text := lax(name, f.Policies.Value, f.Bindings.Value); text != "" {
			wrong = append(wrong, text)
		}
	}
	b.judge(check, Failed, display.Enumerate(wrong),
		"Apply the installation again (config/admission-policy). Without "+
			"them the manager's account can do more than the manager does, and people may write what only "+
			"the manager should (SECURITY.md).")

	const injected = "a policy adds agents to the pods of groups"
	if unread(b, f.Injects, injected) {
		return
	}
	if f.Injects.Value {
		b.note(injected, "podesta-inject")
		return
	}
	v := f.Kubernetes.Value
	do := "Use kubectl election inject, or install the policy: config/inject, or the chart's " +
		"inject.enabled."
	if v.Major == 1 && v.Minor < injecting {
		do = "Use kubectl election inject: a policy needs a newer Kubernetes."
	}
	b.unknown(injected, "none does", do)
}

// lax returns what is wrong with a policy; empty if it denies what it should.
func lax(name string, policies []admissionv1.ValidatingAdmissionPolicy,
	bindings []admissionv1.ValidatingAdmissionPolicyBinding) string {
	named := func(p admissionv1.ValidatingAdmissionPolicy) bool { return p.Name == name }
	at := slices.IndexFunc(policies, named)
	if at < 0 {
		return name + " is missing"
	}
	if t := policies[at].Status.TypeChecking; t != nil && len(t.ExpressionWarnings) > 0 {
		return name + " has a mistake: " + t.ExpressionWarnings[0].Warning
	}
	denies := slices.ContainsFunc(bindings, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	})
	if !denies {
		return name + " has no binding that denies"
	}
	return ""
}
