package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/internal/check"
)

// inspector reads what package check judges.
type inspector struct {
	kube apiClient
	// ask asks the API server for its version, and returns its clock as well.
	ask       func(context.Context) (check.Version, check.Clock, error)
	namespace string // of groups; empty: all
	system    string // the manager's namespace
	silent    error  // why an answer has not come
}

// unlessSilent asks the API server until one answer has not come. A check asks some 60 questions,
// and would wait for each.
func (i *inspector) unlessSilent(ask func() error) error {
	if i.silent != nil {
		return i.silent
	}
	err := ask()
	if _, network := errors.AsType[net.Error](err); network { // context.DeadlineExceeded is one, too
		i.silent = err
	}
	return err
}

// What a check reads beside groups, by the names and versions that the API server has for it.
var (
	nodesResource           = corev1.SchemeGroupVersion.WithResource("nodes")
	podsResource            = corev1.SchemeGroupVersion.WithResource("pods")
	configMapsResource      = corev1.SchemeGroupVersion.WithResource("configmaps")
	limitRangesResource     = corev1.SchemeGroupVersion.WithResource("limitranges")
	resourceQuotasResource  = corev1.SchemeGroupVersion.WithResource("resourcequotas")
	deploymentsResource     = appsv1.SchemeGroupVersion.WithResource("deployments")
	leasesResource          = coordinationv1.SchemeGroupVersion.WithResource("leases")
	slicesResource          = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	networkPoliciesResource = networkingv1.SchemeGroupVersion.WithResource("networkpolicies")
	definitionsResource     = extensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	reviewsResource         = authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews")

	policiesResource = admissionv1.SchemeGroupVersion.WithResource(
		"validatingadmissionpolicies")
	bindingsResource = admissionv1.SchemeGroupVersion.WithResource(
		"validatingadmissionpolicybindings")
	mutatingPoliciesResource = admissionv1.SchemeGroupVersion.WithResource(
		"mutatingadmissionpolicies")
	ownReviewsResource = authorizationv1.SchemeGroupVersion.WithResource(
		"selfsubjectaccessreviews")
)

// inspect returns an inspector of the cluster.
func (c *cluster) inspect() (*inspector, error) {
	config, namespace, err := c.configure()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // one person, one run, some 60 requests
	clock := apiclock.New(time.Now, slog.New(slog.DiscardHandler))
	config.Wrap(clock.Watch)
	kube, err := newAPIServer(config)
	if err != nil {
		return nil, err
	}
	return &inspector{kube: kube, ask: kube.asksVersion(clock), namespace: namespace}, nil
}

// results reads the cluster and checks it. It fails if the API server accepts nobody's credentials,
// stops answering, or the user interrupts: what was not read then says nothing about Podesta.
func (i *inspector) results(ctx context.Context, before bool) ([]check.Result, error) {
	kubernetes, clock, err := i.ask(ctx)
	if err != nil && (unreachable(err) || apierrors.IsUnauthorized(err)) {
		return nil, reading{}.failed(err)
	}
	f := &check.Facts{
		Plugin:     version,
		System:     i.system,
		Kubernetes: check.Read[check.Version]{Value: kubernetes, Err: said("ask for the version", err)},
		Clock:      check.Read[check.Clock]{Value: clock, Err: said("ask for the time", err)},
	}
	results := i.judge(ctx, f, before)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case i.silent != nil:
		return nil, reading{}.failed(i.silent)
	default:
		return results, nil
	}
}

// judge reads the cluster and checks it.
func (i *inspector) judge(ctx context.Context, f *check.Facts, before bool) []check.Result {
	f.Nodes = readList[corev1.Node](ctx, i, listed{what: "nodes", resource: nodesResource},
		&corev1.NodeList{})
	f.NodeLeases = readList[coordinationv1.Lease](ctx, i, listed{
		what:      "leases of nodes",
		resource:  leasesResource,
		namespace: corev1.NamespaceNodeLease,
	}, &coordinationv1.LeaseList{})
	if before {
		f.Missing = missing(ctx, check.Installing(i.system), "ask what you may do", i.userMay)
		return check.Before(f)
	}
	f.Definition = readObject(ctx, i, "crd", definitionsResource, "",
		"electiongroups.podesta.dev", &extensionsv1.CustomResourceDefinition{})
	if f.Definition.Err != nil && i.knowsNoGroups(ctx) {
		f.Definition = check.Read[*extensionsv1.CustomResourceDefinition]{}
	}
	i.manager(ctx, &f.Manager)
	i.policies(ctx, f)
	f.Namespaces = i.namespaces(ctx)
	return check.Installed(f)
}

// knowsNoGroups reports whether the API server has no groups, which is seen without the right to
// read their definition.
func (i *inspector) knowsNoGroups(ctx context.Context) bool {
	one := metav1.ListOptions{Limit: 1}
	err := i.unlessSilent(func() error {
		return i.kube.list(ctx, groupsResource, i.namespace, one, &v1.ElectionGroupList{})
	})
	return meta.IsNoMatchError(err)
}

// manager reads what there is of the manager.
func (i *inspector) manager(ctx context.Context, m *check.Manager) {
	const labels = "app.kubernetes.io/name=podesta,app.kubernetes.io/component=manager"
	m.Deployments = readList[appsv1.Deployment](ctx, i,
		listed{"deployments", deploymentsResource, i.system, labels}, &appsv1.DeploymentList{})
	m.Pods = readList[corev1.Pod](ctx, i, listed{"pods", podsResource, i.system, labels},
		&corev1.PodList{})
	m.Lease = readObject(ctx, i, "lease", leasesResource, i.system, "podesta-manager",
		&coordinationv1.Lease{})
	m.Slices = readList[discoveryv1.EndpointSlice](ctx, i, listed{
		what:      "endpointslices",
		resource:  slicesResource,
		namespace: i.system,
		labels:    discoveryv1.LabelServiceName + "=podesta-roster",
	}, &discoveryv1.EndpointSliceList{})
	m.Trust = readObject(ctx, i, "configmap", configMapsResource, i.system, v1.TrustConfigMap,
		&corev1.ConfigMap{})
	m.Denied = missing(ctx, check.Managing(i.system),
		"create subjectaccessreviews.authorization.k8s.io", i.managerMay)
}

// policies reads the admission policies of the installation.
func (i *inspector) policies(ctx context.Context, f *check.Facts) {
	for _, name := range check.Policies {
		p := readObject(ctx, i, "validatingadmissionpolicy", policiesResource, "", name,
			&admissionv1.ValidatingAdmissionPolicy{})
		b := readObject(ctx, i, "validatingadmissionpolicybinding", bindingsResource, "", name,
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
	inject := readObject(ctx, i, "mutatingadmissionpolicy", mutatingPoliciesResource, "",
		"podesta-inject", &admissionv1.MutatingAdmissionPolicy{})
	f.Injects = check.Read[bool]{Value: inject.Value != nil, Err: inject.Err}
}

// missing returns those of some rights that somebody does not have, as the API server says when it
// is asked; tried names the question in errors.
func missing(ctx context.Context, rights []check.Right, tried string,
	may func(context.Context, *authorizationv1.ResourceAttributes) (bool, error)) (
	r check.Read[[]check.Right]) {
	for _, right := range rights {
		allowed, err := may(ctx, &authorizationv1.ResourceAttributes{
			Verb:        right.Verb,
			Group:       right.Group,
			Resource:    right.Resource,
			Subresource: right.Subresource,
			Name:        right.Name,
			Namespace:   right.Namespace,
		})
		if err != nil {
			return check.Read[[]check.Right]{Err: said(tried, err)}
		}
		if !allowed {
			r.Value = append(r.Value, right)
		}
	}
	return r
}

// userMay asks about whoever runs the command.
func (i *inspector) userMay(ctx context.Context,
	what *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: reviewType("SelfSubjectAccessReview"),
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what},
	}
	err := i.unlessSilent(func() error { return i.kube.review(ctx, ownReviewsResource, review) })
	return review.Status.Allowed, err
}

// managerMay asks about the manager's ServiceAccount.
func (i *inspector) managerMay(ctx context.Context,
	what *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{
		TypeMeta: reviewType("SubjectAccessReview"),
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: fmt.Sprintf("system:serviceaccount:%s:%s", i.system, check.ServiceAccount),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + i.system,
				"system:authenticated"},
			ResourceAttributes: what,
		},
	}
	err := i.unlessSilent(func() error { return i.kube.review(ctx, reviewsResource, review) })
	return review.Status.Allowed, err
}

func reviewType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: authorizationv1.SchemeGroupVersion.String()}
}
