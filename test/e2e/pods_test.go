package e2e

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// createPods makes pods of the group after a template, named group-first to group-last.
func (g *group) createPods(ctx context.Context, template *corev1.Pod, first, last int) error {
	for i := first; i <= last; i++ {
		pod := template.DeepCopy()
		pod.ObjectMeta = metav1.ObjectMeta{
			Namespace:   g.Namespace,
			Name:        g.podName(i),
			Labels:      map[string]string{v1.GroupLabel: g.Group},
			Annotations: template.Annotations,
		}
		if err := g.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// podName is the name of the pod with that ordinal.
func (g *group) podName(i int) string { return fmt.Sprintf("%s-%d", g.Group, i) }

// createNamespace makes the stage's namespace.
func (g *group) createNamespace(ctx context.Context) error {
	err := g.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.Namespace}})
	return client.IgnoreAlreadyExists(err)
}

// forceDeletePod takes a pod's object away at once: nobody says any more whether its processes have
// ended.
func (g *group) forceDeletePod(ctx context.Context, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: name}}
	return g.Delete(ctx, pod, client.GracePeriodSeconds(0))
}

// clear ends the group and all its pods at once.
func (g *group) clear(ctx context.Context) error {
	return errors.Join(
		client.IgnoreNotFound(g.Delete(ctx, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Group}})),
		g.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(g.Namespace), client.GracePeriodSeconds(0)))
}

// withLabel returns the names of the pods that carry the coordinator's role label.
func (g *group) withLabel(ctx context.Context) ([]string, error) {
	var list corev1.PodList
	if err := g.List(ctx, &list, client.InNamespace(g.Namespace),
		client.MatchingLabels{v1.GroupLabel: g.Group, v1.RoleLabel: v1.RoleCoordinator}); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names, nil
}

// awaitLabel returns when the coordinator's role label is on that pod and on no other.
func (g *group) awaitLabel(ctx context.Context, want string) error {
	var names []string
	err := g.Until(ctx, "the label "+v1.RoleLabel+" on "+want+" only", &corev1.PodList{}, func(runtime.Object) bool {
		var err error
		names, err = g.withLabel(ctx)
		return err == nil && len(names) == 1 && names[0] == want
	}, client.InNamespace(g.Namespace), client.MatchingLabels{v1.GroupLabel: g.Group})
	if err != nil {
		err = fmt.Errorf("%w: it is on %v", err, names)
	}
	return err
}

// deletePod deletes a pod as kubectl does, and returns when it is gone.
func (g *group) deletePod(ctx context.Context, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: name}}
	return g.DeleteAndAwait(ctx, pod)
}
