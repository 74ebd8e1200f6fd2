// Package stage is a group on a cluster as the demo and the end-to-end tests handle it: apply,
// look, kill, await. On the local cluster of hack/cluster a container is a process of this machine,
// so it can be killed outright.
package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	sigsyaml "sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/manifest"
	"github.com/podesta-dev/podesta/test/observer"
)

// Stage is one ElectionGroup with its pods.
type Stage struct {
	client.WithWatch
	Namespace, Group string
	Observer         *observer.Observer
	Config           *rest.Config

	followed map[string]string // address that the observer follows, by pod
}

// silence keeps controller-runtime from logging what it returns as errors.
var silence = sync.OnceFunc(func() { log.SetLogger(logr.Discard()) })

// Connect opens the cluster of a kubeconfig file.
func Connect(kubeconfig, namespace, group string) (*Stage, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	silence()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return &Stage{
		WithWatch: c,
		Namespace: namespace,
		Group:     group,
		Observer:  observer.New(),
		Config:    config,
		followed:  map[string]string{},
	}, nil
}

// Close ends watching.
func (s *Stage) Close() { s.Observer.Close() }

// ApplyFile applies the objects of a YAML file in the stage's namespace, as kubectl apply
// --server-side does.
func (s *Stage) ApplyFile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return s.ApplyYAML(ctx, path, text)
}

// ApplyYAML does the same with a text; errors call it what. A stage without a namespace leaves the
// objects in theirs.
func (s *Stage) ApplyYAML(ctx context.Context, what string, text []byte) error {
	objects, err := manifest.Objects(text)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, object := range objects {
		if s.Namespace != "" {
			object.SetNamespace(s.Namespace)
		}
		err := s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
			client.FieldOwner("podesta-stage"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("%s: %s %s: %w", what, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// ApplyObject applies an object of this program's own.
func (s *Stage) ApplyObject(ctx context.Context, object client.Object) error {
	text, err := s.YAML(object)
	if err != nil {
		return err
	}
	return s.ApplyYAML(ctx, object.GetName(), text)
}

// YAML writes an object with its kind.
func (s *Stage) YAML(object client.Object) ([]byte, error) {
	kind, err := s.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return sigsyaml.Marshal(object)
}

// Version returns the API server's.
func (s *Stage) Version() (string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return "", err
	}
	version, err := d.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// Read returns the group.
func (s *Stage) Read(ctx context.Context) (*v1.ElectionGroup, error) {
	var g v1.ElectionGroup
	return &g, s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Group}, &g)
}

// Edit changes the group's spec; a conflict with another writer is tried again.
func (s *Stage) Edit(ctx context.Context, change func(*v1.ElectionGroupSpec)) error {
	for {
		g, err := s.Read(ctx)
		if err != nil {
			return err
		}
		change(&g.Spec)
		if err := s.Update(ctx, g); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// DeleteAndAwait deletes an object, and returns when it is gone.
func (s *Stage) DeleteAndAwait(ctx context.Context, object client.Object) error {
	if err := s.Delete(ctx, object); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true,
		func(ctx context.Context) (gone bool, err error) {
			err = s.Get(ctx, client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	if err != nil {
		return fmt.Errorf("await the end of %s: %w", object.GetName(),
			errors.Join(err, context.Cause(ctx)))
	}
	return nil
}

// Await returns the group once accept holds for it: now, or after a change. The error shows the
// group as it was last.
func (s *Stage) Await(
	ctx context.Context, what string, accept func(*v1.ElectionGroup) bool,
) (*v1.ElectionGroup, error) {
	last := &v1.ElectionGroup{}
	err := s.Until(ctx, what, &v1.ElectionGroupList{}, func(object runtime.Object) bool {
		g, ok := object.(*v1.ElectionGroup)
		if ok {
			last = g
		}
		return ok && accept(g)
	}, client.InNamespace(s.Namespace), client.MatchingFields{"metadata.name": s.Group})
	if err != nil {
		err = fmt.Errorf("%w; the group is\n%s", err, Table(last))
	}
	return last, err
}

// Until returns when accept holds for an object of a list's kind: as the API server's store has it
// when Until is called, or after any change of it from then on. (A watch alone begins with what the
// API server's cache has, which may be older than what the caller has just written.)
func (s *Stage) Until(
	ctx context.Context, what string, list client.ObjectList, accept func(runtime.Object) bool,
	of ...client.ListOption,
) error {
	for ctx.Err() == nil {
		changes, err := s.ListAndWatch(ctx, list, of...)
		if err != nil {
			return fmt.Errorf("await %s: %w", what, err)
		}
		if slices.ContainsFunc(Objects(list), accept) {
			changes.Stop()
			return nil
		}
		for event := range changes.ResultChan() {
			if accept(event.Object) {
				changes.Stop()
				return nil
			}
		}
	}
	return fmt.Errorf("await %s: %w", what, context.Cause(ctx))
}

// Objects are copies of a list's objects: the next list may be read into the same memory.
func Objects(list client.ObjectList) (all []runtime.Object) {
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		all = append(all, object.DeepCopyObject())
		return nil
	}) // no list of a kind of objects fails
	return all
}

// ListAndWatch lists the objects that there are, and returns a watch of what comes after.
func (s *Stage) ListAndWatch(
	ctx context.Context, list client.ObjectList, of ...client.ListOption,
) (watch.Interface, error) {
	if err := s.List(ctx, list, of...); err != nil {
		return nil, err
	}
	after := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	return s.Watch(ctx, list, append(slices.Clone(of), after)...)
}
