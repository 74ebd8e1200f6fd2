package main

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/check"
)

// inspector reads what package check judges.
type inspector struct {
	kube client.Client
	// ask asks the API server for its version, and returns its clock as well.
	ask       func(context.Context) (check.Version, check.Clock, error)
	namespace string // of groups; empty: all
	system    string // the manager's namespace
}

// inspectScheme has all that is checked.
func inspectScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme,
		extensionsv1.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// inspect returns an inspector of the cluster.
func (c *cluster) inspect() (*inspector, error) {
	config, namespace, err := c.configure()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // one person, one run, some 60 requests
	scheme, err := inspectScheme()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, noCluster(err)
	}
	ask, err := askAPI(config)
	return &inspector{kube: kube, ask: ask, namespace: namespace}, err
}

// results reads the cluster and checks it. It fails only if the API server gives no answer at all.
func (i *inspector) results(ctx context.Context, before bool) ([]check.Result, error) {
	f := &check.Facts{Plugin: version, System: i.system}
	kubernetes, clock, err := i.ask(ctx)
	if err != nil && unreachable(err) {
		return nil, reading{}.failed(err)
	}
	f.Kubernetes = check.Read[check.Version]{Value: kubernetes, Err: said("ask for the version", err)}
	f.Clock = check.Read[check.Clock]{Value: clock, Err: said("ask for the time", err)}
	f.Nodes = readList[corev1.Node](ctx, i.kube, "nodes", &corev1.NodeList{})
	f.NodeLeases = readList[coordinationv1.Lease](ctx, i.kube, "leases of nodes",
		&coordinationv1.LeaseList{}, client.InNamespace(corev1.NamespaceNodeLease))
	if before {
		f.Missing = i.missing(ctx, check.Installing(i.system), "")
		return check.Before(f), nil
	}
	f.Definition = readObject(ctx, i.kube, "crd", "", "electiongroups.podesta.dev",
		&extensionsv1.CustomResourceDefinition{})
	i.manager(ctx, &f.Manager)
	i.policies(ctx, f)
	f.Namespaces = i.namespaces(ctx)
	return check.Installed(f), nil
}

// manager reads what there is of the manager.
func (i *inspector) manager(ctx context.Context, m *check.Manager) {
	labels := client.MatchingLabels{
		"app.kubernetes.io/name":      "podesta",
		"app.kubernetes.io/component": "manager",
	}
	in := client.InNamespace(i.system)
	m.Deployments = readList[appsv1.Deployment](ctx, i.kube,
		"deployments", &appsv1.DeploymentList{}, in,
		labels)
	m.Pods = readList[corev1.Pod](ctx, i.kube, "pods", &corev1.PodList{}, in, labels)
	m.Lease = readObject(ctx, i.kube, "lease", i.system, "podesta-manager", &coordinationv1.Lease{})
	m.Slices = readList[discoveryv1.EndpointSlice](ctx, i.kube, "endpointslices",
		&discoveryv1.EndpointSliceList{}, in,
		client.MatchingLabels{discoveryv1.LabelServiceName: "podesta-roster"})
	m.Trust = readObject(ctx, i.kube, "configmap", i.system, v1.TrustConfigMap, &corev1.ConfigMap{})
	m.Denied = i.missing(ctx, check.Managing(i.system),
		fmt.Sprintf("system:serviceaccount:%s:%s", i.system, check.ServiceAccount))
}

// policies reads the admission policies of the installation.
func (i *inspector) policies(ctx context.Context, f *check.Facts) {
	for _, name := range check.Policies {
		p := readObject(ctx, i.kube, "validatingadmissionpolicy", "", name,
			&admissionv1.ValidatingAdmissionPolicy{})
		b := readObject(ctx, i.kube, "validatingadmissionpolicybinding", "", name,
			&admissionv1.ValidatingAdmissionPolicyBinding{})
		if f.Policies.Err = p.Err; p.Err != nil {
			return
		}
		if f.Bindings.Err = b.Err; b.Err != nil {
			return
		}
		if p.Value != nil {
			f.Policies.Value = append(f.Policies.Value, *p.Value)
		}
		if b.Value != nil {
			f.Bindings.Value = append(f.Bindings.Value, *b.Value)
		}
	}
	inject := readObject(ctx, i.kube, "mutatingadmissionpolicy", "", "podesta-inject",
		&admissionv1.MutatingAdmissionPolicy{})
	f.Injects = check.Read[bool]{Value: inject.Value != nil, Err: inject.Err}
}

// missing returns those of some rights that a user does not have; empty: the one who asks.
func (i *inspector) missing(ctx context.Context, rights []check.Right,
	user string) (r check.Read[[]check.Right]) {
	for _, right := range rights {
		allowed, err := i.allowed(ctx, right, user)
		if err != nil {
			what := "ask what you may do"
			if user != "" {
				what = "create subjectaccessreviews.authorization.k8s.io"
			}
			return check.Read[[]check.Right]{Err: said(what, err)}
		}
		if !allowed {
			r.Value = append(r.Value, right)
		}
	}
	return r
}

func (i *inspector) allowed(ctx context.Context, r check.Right, user string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	attributes := &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource,
		Subresource: r.Subresource, Name: r.Name, Namespace: r.Namespace}
	if user == "" {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		err := i.kube.Create(ctx, review)
		return review.Status.Allowed, err
	}
	namespace := strings.Split(user, ":")[2]
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace,
			"system:authenticated"},
		ResourceAttributes: attributes,
	}}
	err := i.kube.Create(ctx, review)
	return review.Status.Allowed, err
}
