package kind

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/chaos/backend"
)

// Apply applies a StatefulSet. Agents of an earlier version are written into it; others are
// injected by the policy.
func (b *Backend) Apply(ctx context.Context, s backend.Set) error {
	text, err := b.cluster.YAML(statefulSet(s))
	if err != nil {
		return err
	}
	if s.Previous {
		install, err := inject.NewInstall(b.PreviousImage, "", backend.SystemNamespace)
		if err != nil {
			return err
		}
		if text, _, err = inject.Manifests(text, install); err != nil {
			return err
		}
	}
	return b.cluster.ApplyYAML(ctx, s.Name, text)
}

// statefulSet spreads the pods of a group: no worker ever has a majority of it, also while another
// is drained, whose pods wait for it.
func statefulSet(s backend.Set) *appsv1.StatefulSet {
	selector := &metav1.LabelSelector{MatchLabels: s.Template.Labels}
	template := s.Template
	template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelHostname,
		WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1.GroupLabel: s.Template.Labels[v1.GroupLabel],
		}},
	}}
	template.Spec.Affinity = onWorkers()
	management := appsv1.ParallelPodManagement
	if s.InOrder {
		management = appsv1.OrderedReadyPodManagement
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(s.Size)), //nolint:gosec // a few
			PodManagementPolicy: management,
			ServiceName:         s.Name,
			Selector:            selector,
			Template:            template,
		},
	}
}

func onWorkers() *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "node-role.kubernetes.io/control-plane",
					Operator: corev1.NodeSelectorOpDoesNotExist}}}}}}}
}

// Clear deletes the namespace, and what its pods left in the nodes.
func (b *Backend) Clear(ctx context.Context, namespace string) error {
	return errors.Join(b.deleteNamespace(ctx, namespace), b.nodes.sweep(ctx))
}
