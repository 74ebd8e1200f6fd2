package main

import (
	"context"
	"errors"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// impatient asks an API server until one answer has not come. A check asks it some 60 questions,
// and would wait for each.
type impatient struct {
	apiClient
	silent error // why that answer has not come
}

func (p *impatient) get(ctx context.Context, resource schema.GroupVersionResource,
	key types.NamespacedName, into runtime.Object) error {
	return p.unlessSilent(func() error { return p.apiClient.get(ctx, resource, key, into) })
}

func (p *impatient) list(ctx context.Context, resource schema.GroupVersionResource,
	namespace string, which metav1.ListOptions, into runtime.Object) error {
	return p.unlessSilent(func() error {
		return p.apiClient.list(ctx, resource, namespace, which, into)
	})
}

func (p *impatient) review(ctx context.Context, resource schema.GroupVersionResource,
	question runtime.Object) error {
	return p.unlessSilent(func() error { return p.apiClient.review(ctx, resource, question) })
}

func (p *impatient) unlessSilent(ask func() error) error {
	if p.silent != nil {
		return p.silent
	}
	err := ask()
	if _, network := errors.AsType[net.Error](err); network { // context.DeadlineExceeded is one, too
		p.silent = err
	}
	return err
}
