package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
)

// requests is how many of the generator's requests the API server has at a time.
const requests = 16

// node is where pods run: of each group at most one.
type node struct {
	name   string
	source net.IP // the address from which its agents connect
}

//go:embed pod.yaml
var podFile []byte

// podTemplate is a pod with the agent, as `kubectl election inject` makes it.
func podTemplate() (*corev1.Pod, error) {
	install, err := inject.NewInstall("", "", "")
	if err != nil {
		return nil, err
	}
	injected, _, err := inject.Manifests(podFile, install)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, yaml.UnmarshalStrict(injected, pod)
}

// makeObjects makes the nodes, the namespaces, the groups and their pods.
func (s *site) makeObjects(ctx context.Context) error {
	template, err := podTemplate()
	if err != nil {
		return err
	}
	if err := s.makeNodes(ctx); err != nil {
		return err
	}
	groups := s.newGroups()
	namespaces := (len(groups) + perNamespace - 1) / perNamespace
	if err := s.makeNamespaces(ctx, namespaces); err != nil {
		return err
	}
	var made atomic.Int64
	done := during(fmt.Sprintf("making %d groups with %d pods each", len(groups), s.processes),
		func() string { return fmt.Sprintf("%d groups", made.Load()) })
	defer done()
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(requests)
	for _, g := range groups {
		all.Go(func() error {
			defer made.Add(1)
			return s.makeGroup(ctx, g, template)
		})
	}
	return all.Wait()
}

// newGroups returns all groups. The first ones have agents, and statuses to wait for.
func (s *site) newGroups() []*group {
	groups := make([]*group, s.groups+s.silent)
	for i := range groups {
		groups[i] = newGroup(s, i)
		if i < s.groups {
			s.take(groups[i])
		}
	}
	return groups
}

func (s *site) take(g *group) {
	s.all = append(s.all, g)
	s.byName[types.NamespacedName{Namespace: g.namespace, Name: g.name}] = g
	s.tally.add(1)
}

func (s *site) makeNodes(ctx context.Context) error {
	blocks := (s.groups + s.silent + perNode - 1) / perNode
	for i := range blocks * s.processes {
		n := &node{
			name:   fmt.Sprintf("node-%d", i),
			source: net.IPv4(127, byte(80+i/60_000), byte(i/250%250), byte(1+i%250)),
		}
		s.nodes = append(s.nodes, n)
		_, err := s.core.CoreV1().Nodes().Create(ctx,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make node %s: %w", n.name, err)
		}
	}
	return nil
}

func namespaceOf(i int) string { return fmt.Sprintf("team-%d", i) }

// makeNamespaces makes namespaces with their ServiceAccounts, which admission wants of pods.
func (s *site) makeNamespaces(ctx context.Context, n int) error {
	for i := range n {
		_, err := s.core.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}},
			metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make namespace %s: %w", namespaceOf(i), err)
		}
		_, err = s.core.CoreV1().ServiceAccounts(namespaceOf(i)).Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// makeGroup makes a Guarded group whose coordinators stay: a failover is then the only change.
func (s *site) makeGroup(ctx context.Context, g *group, template *corev1.Pod) error {
	err := s.kube.Create(ctx, &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name},
		Spec: v1.ElectionGroupSpec{
			Safety:     v1.Guarded,
			Priority:   v1.PriorityPolicy{From: v1.Ordinal},
			Timing:     v1.Timing{Profile: v1.Fast},
			Preemption: &v1.Preemption{Policy: v1.Never},
		},
	})
	if err != nil {
		return fmt.Errorf("make group %s/%s: %w", g.namespace, g.name, err)
	}
	for _, a := range g.agents {
		if err := s.makePod(ctx, a, template); err != nil {
			return fmt.Errorf("make pod %s/%s: %w", g.namespace, a.name, err)
		}
	}
	return nil
}

// makePod makes a pod, and gives it the status that its kubelet would have written.
func (s *site) makePod(ctx context.Context, a *agent, template *corev1.Pod) error {
	pod := template.DeepCopy()
	pod.Namespace, pod.Name = a.group.namespace, a.name
	pod.Labels[v1.GroupLabel] = a.group.name
	pod.Labels["apps.kubernetes.io/pod-index"] = fmt.Sprint(a.ordinal)
	pod.Labels["statefulset.kubernetes.io/pod-name"] = a.name
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion:         "apps/v1",
		Kind:               "StatefulSet",
		Name:               a.group.name,
		UID:                types.UID("00000000-0000-0000-0000-000000000000"),
		Controller:         new(true),
		BlockOwnerDeletion: new(true),
	}}
	pod.Spec.Hostname, pod.Spec.NodeName = a.name, a.node.name
	pods := s.core.CoreV1().Pods(pod.Namespace)
	pod, err := pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: "statefulset-controller"})
	if err != nil {
		return err
	}
	a.uid = string(pod.UID)
	pod.Status = running(pod, a)
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}

// running is the status of a pod whose containers all run.
func running(pod *corev1.Pod, a *agent) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		QOSClass:  corev1.PodQOSBurstable,
		HostIP:    a.node.source.String(),
		HostIPs:   []corev1.HostIP{{IP: a.node.source.String()}},
		PodIP:     a.ip().String(),
		PodIPs:    []corev1.PodIP{{IP: a.ip().String()}},
		StartTime: &now,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers,
		corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type:               kind,
			Status:             corev1.ConditionTrue,
			LastTransitionTime: now,
		})
	}
	runs := func(c corev1.Container) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name:  c.Name,
			Image: c.Image,
			ImageID: c.Image +
				"@sha256:8a5c4e1f0d7b3e6c9b2f4a1d8e7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c",
			ContainerID: "containerd://4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c8a5c4e1f0d7b3e6c9b2f4a1d8e7c6b5a",
			Ready:       true,
			Started:     new(true),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			Resources:   &c.Resources,
		}
	}
	for _, c := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, runs(c))
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, runs(c))
	}
	return status
}

// readTrust returns the CA bundle of a namespace, which agents have mounted, as soon as the manager
// has written it.
func (s *site) readTrust(ctx context.Context, namespace string) ([]byte, error) {
	if bundle, ok := s.trust.Load(namespace); ok {
		return bundle.([]byte), nil //nolint:forcetypeassert // nothing else is stored
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	mounted, err := s.core.CoreV1().ConfigMaps(namespace).Get(ctx, v1.TrustConfigMap,
		metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	bundle := []byte(mounted.Data[v1.TrustKey])
	s.trust.Store(namespace, bundle)
	return bundle, nil
}
