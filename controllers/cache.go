package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/group"
)

// CacheOptions keeps the manager small in a big cluster: it watches pods and Services that carry a
// group's label, the trust ConfigMaps and groups, and keeps nothing that it does not read. Of
// Services it reads what it has applied to them, and of groups who else owns fields of the status.
// A kind that watchAhead does not name cannot be read.
//
// If namespaces are given, the cache holds only these, and the manager needs no rights in others.
func CacheOptions(namespaces ...string) cache.Options {
	inGroup, err := labels.NewRequirement(v1.GroupLabel, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	only := make(map[string]cache.Config, len(namespaces))
	for _, namespace := range namespaces {
		only[namespace] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:           only,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1.ElectionGroup{}: {Transform: group.GroupFields},
			&corev1.Pod{}: {
				Label:     labels.NewSelector().Add(*inGroup),
				Transform: group.PodFields,
			},
			&corev1.Service{}: {Label: labels.NewSelector().Add(*inGroup),
				Transform: func(service any) (any, error) { return service, nil }},
			&corev1.ConfigMap{}: {
				Field: fields.OneTermEqualSelector("metadata.name", v1.TrustConfigMap),
			},
		},
	}
}

// watchAhead has the manager watch, from its start, all that it reads when it leads. One that waits
// for the Lease so has a full cache when it gets it; a cache that is filled only then takes a
// second or two with a hundred groups, in which no status is written. The controllers themselves
// begin when it leads, and so does what they keep.
func watchAhead(ctx context.Context, c cache.Cache) error {
	kinds := []client.Object{&v1.ElectionGroup{}, &corev1.Pod{}, &corev1.Service{},
		&corev1.ConfigMap{}}
	for _, kind := range kinds {
		if _, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	return nil
}
