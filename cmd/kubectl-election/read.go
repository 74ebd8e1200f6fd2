package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podesta-dev/podesta/controllers/apiclock"
	"github.com/podesta-dev/podesta/internal/check"
	"github.com/podesta-dev/podesta/internal/display"
)

// apiClient is what commands ask of an API server. Its errors are those of apierrors, or
// meta.IsNoMatchError if the API server has no such resource.
type apiClient interface {
	get(ctx context.Context, resource schema.GroupVersionResource, key types.NamespacedName,
		into runtime.Object) error
	list(ctx context.Context, resource schema.GroupVersionResource, namespace string,
		which metav1.ListOptions, into runtime.Object) error
	// review asks whether somebody has a right, and reads the answer into the question.
	review(ctx context.Context, resource schema.GroupVersionResource, question runtime.Object) error
	// watch and patch are for groups.
	watch(ctx context.Context, which reading, version string) (watch.Interface, error)
	patch(ctx context.Context, key types.NamespacedName, change []byte) error
}

// listed is a list that is read.
type listed struct {
	what      string // in errors
	resource  schema.GroupVersionResource
	namespace string // empty: all
	labels    string // a selector
}

// readObject reads an object; kind names its kind in errors. The value is nil if there is none, or
// if the cluster does not know the kind.
func readObject[T runtime.Object](ctx context.Context, i *inspector, kind string,
	resource schema.GroupVersionResource, namespace, name string, object T) check.Read[T] {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	err := i.unlessSilent(func() error { return i.kube.get(ctx, resource, key, object) })
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return check.Read[T]{}
	}
	return check.Read[T]{Value: object, Err: said("get "+kind+" "+name, err)}
}

// readList reads a list of objects.
func readList[T any](ctx context.Context, i *inspector, l listed,
	into runtime.Object) (r check.Read[[]T]) {
	which := metav1.ListOptions{LabelSelector: l.labels}
	err := i.unlessSilent(func() error {
		return i.kube.list(ctx, l.resource, l.namespace, which, into)
	})
	if err != nil {
		return check.Read[[]T]{Err: said("list "+l.what, err)}
	}
	r.Err = meta.EachListItem(into, func(o runtime.Object) error {
		item, ok := any(o).(*T)
		if !ok {
			return fmt.Errorf("list %s: the API server has sent a %T", l.what, o)
		}
		r.Value = append(r.Value, *item)
		return nil
	})
	return r
}

// said returns an error as a check shows it: what was tried, and which right is missing, if one is.
func said(tried string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return errors.New("you may not " + tried)
	default:
		return errors.New(tried + ": " + display.Printable(err.Error(), 300))
	}
}

// asksVersion returns a function that asks the API server for its version. The answer shows the API
// server's clock, too.
func (s *apiServer) asksVersion(
	clock *apiclock.Clock,
) func(context.Context) (check.Version, check.Clock, error) {
	return func(ctx context.Context) (v check.Version, c check.Clock, err error) {
		ctx, cancel := context.WithTimeout(ctx, s.limit)
		defer cancel()
		began := time.Now()
		answer, err := s.rest.Get().AbsPath("version").Do(ctx).Raw()
		if err != nil {
			return v, c, err
		}
		c = check.Clock{Server: clock.Date(), Within: time.Since(began) + time.Second}
		if c.Server.IsZero() {
			return v, c, errors.New("the API server does not date its answers")
		}
		var info apiversion.Info
		if err := json.Unmarshal(answer, &info); err != nil {
			return v, c, err
		}
		v, err = versionOf(info)
		return v, c, err
	}
}

// versionOf returns a version of Kubernetes. Providers add signs to the minor: 33+.
func versionOf(info apiversion.Info) (v check.Version, err error) {
	v.Text = info.GitVersion
	if v.Major, err = strconv.Atoi(info.Major); err != nil {
		return v, err
	}
	v.Minor, err = strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	return v, err
}
