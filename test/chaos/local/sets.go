package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/stage"
)

// sets does what a StatefulSet's controller does, which the local cluster lacks.
type sets struct {
	ctx     context.Context
	stage   *stage.Stage
	running sync.WaitGroup

	mu     sync.Mutex
	wanted map[string]backend.Set // by name

	stepping sync.Mutex // held while pods are looked at and changed
}

// Apply takes a set, has its pods made, removed or replaced, and goes on to do so.
func (b *Backend) Apply(_ context.Context, s backend.Set) error {
	b.sets.mu.Lock()
	_, known := b.sets.wanted[s.Name]
	b.sets.wanted[s.Name] = s
	b.sets.mu.Unlock()
	if !known {
		b.sets.running.Go(func() { b.sets.run(s.Namespace, s.Name) })
	}
	return b.sets.step(s.Name)
}

// Clear removes the groups and pods of a namespace. Nothing here removes the namespace itself.
func (b *Backend) Clear(ctx context.Context, namespace string) error {
	b.sets.mu.Lock()
	for name, s := range b.sets.wanted {
		if s.Namespace == namespace {
			s.Size = 0
			b.sets.wanted[name] = s
		}
	}
	b.sets.mu.Unlock()
	in := client.InNamespace(namespace)
	return errors.Join(b.cluster.DeleteAllOf(ctx, &v1.ElectionGroup{}, in),
		b.cluster.DeleteAllOf(ctx, &corev1.Pod{}, in, client.GracePeriodSeconds(0)))
}

func podName(s backend.Set, i int) string { return fmt.Sprintf("%s-%d", s.Name, i) }

// run takes a step whenever a pod of the namespace changes. While the API server is away it tries
// again.
func (s *sets) run(namespace, name string) {
	const again = 100 * time.Millisecond
	for s.ctx.Err() == nil {
		_ = s.stage.Until(s.ctx, "an error", &corev1.PodList{}, func(runtime.Object) bool {
			return s.step(name) != nil
		}, client.InNamespace(namespace)) // the next watch begins with what there is
		signals.Wait(s.ctx, again)
	}
}

// step brings a set nearer to what is wanted.
func (s *sets) step(name string) error {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	s.mu.Lock()
	set := s.wanted[name]
	s.mu.Unlock()
	var list corev1.PodList
	if err := s.stage.List(s.ctx, &list, client.InNamespace(set.Namespace)); err != nil {
		return err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	create, remove := decide(set, pods)
	var errs []error
	for _, i := range create {
		errs = append(errs, s.create(set, i))
	}
	if remove != nil {
		errs = append(errs, client.IgnoreNotFound(s.stage.Delete(s.ctx, remove,
			client.Preconditions{UID: &remove.UID})))
	}
	return errors.Join(errs...)
}

// decide says which ordinals to create, and which pod to remove: the highest that is too many, or,
// once all are ready, the highest of an earlier template.
func decide(set backend.Set, pods map[string]*corev1.Pod) (create []int, remove *corev1.Pod) {
	ready := true // all of the lower ordinals
	for i := range set.Size {
		p := pods[podName(set, i)]
		if p == nil && (ready || !set.InOrder) {
			create = append(create, i)
		}
		ready = ready && p != nil && p.DeletionTimestamp == nil && stage.Ready(p)
		if ready && p.Annotations[backend.Revision] != set.Template.Annotations[backend.Revision] {
			remove = p
		}
	}
	if !ready {
		remove = nil
	}
	for i := set.Size; ; i++ {
		p := pods[podName(set, i)]
		if p == nil {
			return create, remove
		}
		if remove = p; p.DeletionTimestamp != nil {
			remove = nil
		}
	}
}

// create makes a pod, with the agent injected as `kubectl election inject` does.
func (s *sets) create(set backend.Set, i int) error {
	pod := &corev1.Pod{ObjectMeta: *set.Template.ObjectMeta.DeepCopy(),
		Spec: *set.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.Namespace, podName(set, i)
	text, err := s.stage.YAML(pod)
	if err != nil {
		return err
	}
	install, err := inject.NewInstall("", "", backend.SystemNamespace)
	if err != nil {
		return err
	}
	if text, _, err = inject.Manifests(text, install); err != nil {
		return err
	}
	return s.stage.ApplyYAML(s.ctx, pod.Name, text)
}
