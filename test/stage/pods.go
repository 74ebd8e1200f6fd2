package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Template reads the first pod of a YAML file: what every pod of a group looks like, but for its name.
func Template(path string) (*corev1.Pod, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	var pod corev1.Pod
	if err := yaml.NewYAMLOrJSONDecoder(file, 4096).Decode(&pod); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &pod, nil
}

// CreatePods makes pods of the group after a template, named group-first to group-last.
func (s *Stage) CreatePods(ctx context.Context, template *corev1.Pod, first, last int) error {
	for i := first; i <= last; i++ {
		pod := template.DeepCopy()
		pod.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: s.PodName(i), Labels: map[string]string{v1.GroupLabel: s.Group}}
		if err := s.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// PodName is the name of the pod with that ordinal.
func (s *Stage) PodName(i int) string { return fmt.Sprintf("%s-%d", s.Group, i) }

// CreateNamespace makes the stage's namespace.
func (s *Stage) CreateNamespace(ctx context.Context) error {
	err := s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
	return client.IgnoreAlreadyExists(err)
}

// DeleteNamespace deletes a namespace, and returns when it is gone.
func (s *Stage) DeleteNamespace(ctx context.Context, name string, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it is not gone within %v", patience))
	defer cancel()
	return s.deleteAndAwait(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, &corev1.NamespaceList{})
}

// DeletePod deletes a pod as kubectl does, and returns when it is gone.
func (s *Stage) DeletePod(ctx context.Context, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	return s.deleteAndAwait(ctx, pod, &corev1.PodList{})
}

// deleteAndAwait watches objects of the kind for the end of one.
func (s *Stage) deleteAndAwait(ctx context.Context, object client.Object, all client.ObjectList) error {
	if err := s.Delete(ctx, object); err != nil {
		return err
	}
	for ctx.Err() == nil {
		watch, err := s.Watch(ctx, all, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
		if err != nil {
			return err
		}
		err = s.Get(ctx, client.ObjectKeyFromObject(object), object)
		for ; err == nil; err = s.Get(ctx, client.ObjectKeyFromObject(object), object) {
			if _, more := <-watch.ResultChan(); !more {
				break
			}
		}
		watch.Stop()
		if apierrors.IsNotFound(err) {
			return nil
		}
	}
	return fmt.Errorf("await the end of %s: %w", object.GetName(), context.Cause(ctx))
}

// ForceDeletePod takes a pod's object away at once: nobody says any more whether its processes have ended.
func (s *Stage) ForceDeletePod(ctx context.Context, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	return s.Delete(ctx, pod, client.GracePeriodSeconds(0))
}

// Clear ends the group and all its pods at once.
func (s *Stage) Clear(ctx context.Context) error {
	return errors.Join(
		client.IgnoreNotFound(s.Delete(ctx, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Group}})),
		s.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(s.Namespace), client.GracePeriodSeconds(0)))
}

// Labelled returns the names of the pods that carry the coordinator's role label.
func (s *Stage) Labelled(ctx context.Context) ([]string, error) {
	var list corev1.PodList
	if err := s.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1.GroupLabel: s.Group, v1.RoleLabel: v1.RoleCoordinator}); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names, nil
}

// AwaitLabel returns when the coordinator's role label is on that pod and on no other.
func (s *Stage) AwaitLabel(ctx context.Context, want string) error {
	var names []string
	for ctx.Err() == nil {
		watch, err := s.Watch(ctx, &corev1.PodList{}, client.InNamespace(s.Namespace), client.MatchingLabels{v1.GroupLabel: s.Group})
		if err != nil {
			return err
		}
		for more := true; more; _, more = <-watch.ResultChan() {
			if names, err = s.Labelled(ctx); err == nil && len(names) == 1 && names[0] == want {
				watch.Stop()
				return nil
			}
		}
	}
	return fmt.Errorf("await the label %s on %s only: it is on %v: %w", v1.RoleLabel, want, names, context.Cause(ctx))
}
