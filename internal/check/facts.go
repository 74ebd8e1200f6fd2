package check

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Facts are what was read of a cluster.
type Facts struct {
	// Plugin is the version of the program that asks.
	Plugin string
	// System is the namespace in which the manager runs, or is to run.
	System string

	// Kubernetes is the API server's version.
	Kubernetes Read[Version]
	// Clock is the API server's time.
	Clock Read[Clock]
	Nodes Read[[]corev1.Node]
	// NodeLeases are the Leases in kube-node-lease, each renewed by the clock of its node.
	NodeLeases Read[[]coordinationv1.Lease]
	// Missing are rights that installing needs and this user does not have.
	Missing Read[[]Right]

	Definition Read[*extensionsv1.CustomResourceDefinition] // nil: not there
	Manager    Manager
	// Policies and Bindings are those whose name begins with podesta-.
	Policies Read[[]admissionv1.ValidatingAdmissionPolicy]
	Bindings Read[[]admissionv1.ValidatingAdmissionPolicyBinding]
	// Injects tells whether the policy that adds agents to pods is there.
	Injects Read[bool]
	// Namespaces are those that were asked for, or all that have groups or pods of groups.
	Namespaces Read[[]Namespace]
}

// Version is a version of Kubernetes.
type Version struct {
	Major, Minor int
	Text         string
}

// Clock is what a clock shows, as closely as Within.
type Clock struct {
	Server time.Time
	Within time.Duration
}

// Manager is what was read in the manager's namespace.
type Manager struct {
	Deployments Read[[]appsv1.Deployment] // those with the manager's labels
	Pods        Read[[]corev1.Pod]
	Lease       Read[*coordinationv1.Lease] // nil: not there
	Slices      Read[[]discoveryv1.EndpointSlice]
	Trust       Read[*corev1.ConfigMap] // nil: not there
	// Denied are rights of the manager that its ServiceAccount does not have.
	Denied Read[[]Right]
}

// Namespace is what was read in a namespace that has groups, or pods of groups.
type Namespace struct {
	Name     string
	Groups   Read[[]v1.ElectionGroup]
	Pods     Read[[]corev1.Pod] // those with the label of a group
	Policies Read[[]networkingv1.NetworkPolicy]
	Limits   Read[[]corev1.LimitRange]
	Quotas   Read[[]corev1.ResourceQuota]
	Trust    Read[*corev1.ConfigMap] // nil: not there
}
