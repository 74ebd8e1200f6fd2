package main

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/check"
)

// namespaces reads what there is in the namespaces that have groups, or pods of groups. Each kind
// is listed once, however many namespaces there are.
func (i *inspector) namespaces(ctx context.Context) (all check.Read[[]check.Namespace]) {
	list := func(resource schema.GroupVersionResource, labels string) listed {
		return listed{resource.GroupResource().String(), resource, i.namespace, labels}
	}
	groups := readList[v1.ElectionGroup](ctx, i, list(groupsResource, ""),
		&v1.ElectionGroupList{})
	pods := readList[corev1.Pod](ctx, i, list(podsResource, v1.GroupLabel), &corev1.PodList{})
	policies := readList[networkingv1.NetworkPolicy](ctx, i, list(networkPoliciesResource, ""),
		&networkingv1.NetworkPolicyList{})
	limits := readList[corev1.LimitRange](ctx, i, list(limitRangesResource, ""),
		&corev1.LimitRangeList{})
	quotas := readList[corev1.ResourceQuota](ctx, i, list(resourceQuotasResource, ""),
		&corev1.ResourceQuotaList{})

	names := sets.New[string]()
	for _, g := range groups.Value {
		names.Insert(g.Namespace)
	}
	for _, p := range pods.Value {
		names.Insert(p.Namespace)
	}
	if i.namespace != "" {
		names.Insert(i.namespace)
	}
	for _, name := range sets.List(names) {
		all.Value = append(all.Value, check.Namespace{
			Name:   name,
			Groups: within(groups, name, func(g *v1.ElectionGroup) string { return g.Namespace }),
			Pods:   within(pods, name, func(p *corev1.Pod) string { return p.Namespace }),
			Policies: within(policies, name,
				func(p *networkingv1.NetworkPolicy) string { return p.Namespace }),
			Limits: within(limits, name, func(l *corev1.LimitRange) string { return l.Namespace }),
			Quotas: within(quotas, name, func(q *corev1.ResourceQuota) string { return q.Namespace }),
			Trust: readObject(ctx, i, "configmap", configMapsResource, name, v1.TrustConfigMap,
				&corev1.ConfigMap{}),
		})
	}
	if len(all.Value) == 0 {
		all.Err = cmp.Or(groups.Err, pods.Err)
	}
	return all
}

// within are those of some objects that are in a namespace.
func within[T any](all check.Read[[]T], name string, of func(*T) string) check.Read[[]T] {
	some := check.Read[[]T]{Err: all.Err}
	for i := range all.Value {
		if of(&all.Value[i]) == name {
			some.Value = append(some.Value, all.Value[i])
		}
	}
	return some
}
