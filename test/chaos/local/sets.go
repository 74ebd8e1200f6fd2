package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	wanted map[string]*wanted // by name
}

// wanted is a set as it should be.
type wanted struct {
	backend.Set

	most    int // the largest size until now
	changed chan struct{}
}

// Apply takes a set, and has its pods made, removed or replaced.
func (b *Backend) Apply(_ context.Context, s backend.Set) error {
	b.sets.mu.Lock()
	defer b.sets.mu.Unlock()
	w, ok := b.sets.wanted[s.Name]
	if !ok {
		w = &wanted{changed: make(chan struct{}, 1)}
		b.sets.wanted[s.Name] = w
		b.sets.running.Go(func() { b.sets.run(w) })
	}
	w.Set, w.most = s, max(w.most, s.Size)
	select {
	case w.changed <- struct{}{}:
	default: // it will look anyway
	}
	return nil
}

// Clear removes the groups and pods of a namespace. Nothing here removes the namespace itself.
func (b *Backend) Clear(ctx context.Context, namespace string) error {
	for _, s := range b.sets.of(namespace) {
		s.Size = 0
		if err := b.Apply(ctx, s); err != nil {
			return err
		}
	}
	in := client.InNamespace(namespace)
	return errors.Join(b.cluster.DeleteAllOf(ctx, &v1.ElectionGroup{}, in),
		b.cluster.DeleteAllOf(ctx, &corev1.Pod{}, in, client.GracePeriodSeconds(0)))
}

// of returns a copy of the sets of a namespace.
func (s *sets) of(namespace string) (all []backend.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wanted {
		if w.Namespace == namespace {
			all = append(all, w.Set)
		}
	}
	return all
}

// podsEver returns the names of all pods that a namespace's sets ever had.
func (s *sets) podsEver(namespace string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	for _, w := range s.wanted {
		for i := range w.most {
			if w.Namespace == namespace {
				names[podName(w.Set, i)] = true
			}
		}
	}
	return names
}

func podName(s backend.Set, i int) string { return fmt.Sprintf("%s-%d", s.Name, i) }

// now returns a set as it is wanted now.
func (s *sets) now(w *wanted) backend.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.Set
}

// run keeps a set as it is wanted. While the API server is away it tries again.
func (s *sets) run(w *wanted) {
	const again = 100 * time.Millisecond
	for s.ctx.Err() == nil {
		watch, err := s.stage.Watch(s.ctx, &corev1.PodList{}, client.InNamespace(s.now(w).Namespace))
		if err != nil {
			signals.Wait(s.ctx, again)
			continue
		}
		for more := true; more && s.ctx.Err() == nil; {
			if err := s.step(s.now(w)); err != nil {
				signals.Wait(s.ctx, again)
				break
			}
			select {
			case _, more = <-watch.ResultChan():
			case <-w.changed:
			case <-s.ctx.Done():
			}
		}
		watch.Stop()
	}
}

// step brings a set nearer to what is wanted.
func (s *sets) step(set backend.Set) error {
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
		errs = append(errs, client.IgnoreNotFound(s.stage.Delete(s.ctx, remove, client.Preconditions{UID: &remove.UID})))
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
	pod := &corev1.Pod{ObjectMeta: *set.Template.ObjectMeta.DeepCopy(), Spec: *set.Template.Spec.DeepCopy()}
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
