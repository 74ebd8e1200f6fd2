package local

import (
	"context"
	"net"
	"path/filepath"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The manager is a process of this machine, and no pod. Whoever looks for an installation
// (`kubectl election check`) finds these objects in its stead: a Deployment of one replica with
// its pod, and the address at which it serves agents. The API server
// takes no loopback address in an EndpointSlice, so the slice has the name
// localhost.localdomain.

// managerLabels are those of an installation (config/manager).
var managerLabels = map[string]string{
	"app.kubernetes.io/name":      "podesta",
	"app.kubernetes.io/component": "manager",
}

// standIn writes the objects that stand for the manager.
func standIn(ctx context.Context, kube client.Client, m Manager) error {
	meta := metav1.ObjectMeta{
		Namespace: managerNamespace,
		Name:      "podesta-manager",
		Labels:    managerLabels,
		Annotations: map[string]string{
			"podesta.dev/note": "stands for a process of this machine: hack/cluster/README.md",
		},
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: managerLabels},
		Spec: corev1.PodSpec{
			ServiceAccountName: "podesta-manager", // config/rbac has it
			Containers: []corev1.Container{{
				Name:  "manager",
				Image: filepath.Base(m.Path),
				SecurityContext: &corev1.SecurityContext{ // as the namespace wants it of pods
					RunAsNonRoot:             new(true),
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					SeccompProfile: &corev1.SeccompProfile{
						Type: corev1.SeccompProfileTypeRuntimeDefault,
					},
				},
			}},
		},
	}
	if err := standInPod(ctx, kube, meta, template); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(m.Roster)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	meta.Name = "podesta-roster-local"
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: "podesta-roster"}
	return kube.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeFQDN,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"localhost.localdomain"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("roster"), Port: new(int32(number))}},
	})
}

// standInPod writes a Deployment, its ReplicaSet and its pod, which is ready. With controllers that
// run, they agree on that: each finds what it would have made.
func standInPod(ctx context.Context, kube client.Client, meta metav1.ObjectMeta,
	template corev1.PodTemplateSpec) error {
	one, selector := new(int32(1)), &metav1.LabelSelector{MatchLabels: managerLabels}
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: one,
		Selector: selector,
		Template: template,
	}}
	if err := kube.Create(ctx, d); err != nil {
		return err
	}
	owned := func(kind string, by metav1.Object) metav1.ObjectMeta {
		m := *meta.DeepCopy()
		m.Name = by.GetName() + "-local"
		m.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "local"
		m.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(by, appsv1.SchemeGroupVersion.WithKind(kind))}
		return m
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: owned("Deployment", d)}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: one, Selector: selector, Template: template}
	rs.Spec.Template.Labels = rs.Labels
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Labels}
	if err := kube.Create(ctx, rs); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: owned("ReplicaSet", rs), Spec: template.Spec}
	if err := kube.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{{
			Type:               corev1.PodReady,
			Status:             corev1.ConditionTrue,
			LastTransitionTime: metav1.Now(),
		}},
	}
	if err := kube.Status().Update(ctx, pod); err != nil {
		return err
	}
	rs.Status = appsv1.ReplicaSetStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	if err := kube.Status().Update(ctx, rs); err != nil {
		return err
	}
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	return kube.Status().Update(ctx, d)
}

const managerNamespace = "podesta-system"
