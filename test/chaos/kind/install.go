package kind

import (
	"context"
	"errors"
	"net"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/stage"
)

// registerNamespace is where the register runs, on the control plane's node, which is never paused.
const registerNamespace = "chaos-register"

// Up connects to the cluster, prepares the nodes, installs Podesta, and starts the register.
func (b *Backend) Up(ctx context.Context) (backend.Cluster, error) {
	ctx, cancel := backend.Within(ctx, backend.Starting, "not ready")
	defer cancel()
	c := &b.cluster
	var err error
	// what is applied brings its own namespaces
	if c.Stage, err = stage.Connect(b.Kubeconfig, "", ""); err != nil {
		return *c, err
	}
	if c.Kubernetes, err = c.Version(); err != nil {
		return *c, err
	}
	b.Say("preparing the nodes")
	if b.nodes, err = findNodes(ctx, b.Name); err != nil {
		return *c, err
	}
	if err := b.forget(ctx); err != nil {
		return *c, err
	}
	if err := errors.Join(b.nodes.prepare(ctx, b.Program), b.nodes.checkClocks(ctx)); err != nil {
		return *c, err
	}
	b.Say("installing Podesta, and the register")
	for _, file := range b.Manifests {
		if err := c.ApplyFile(ctx, file); err != nil {
			return *c, err
		}
	}
	c.Nodes, c.Workers, c.Image = len(b.nodes.all()), b.nodes.workers, b.Image
	c.Traces, c.Volume = nodeDir+"/traces", new(hostDir("traces"))
	if c.Register, err = b.startRegister(ctx); err != nil {
		return *c, err
	}
	return *c, b.awaitRollout(ctx)
}

// awaitRollout awaits that the managers are those that were just installed, and ready.
func (b *Backend) awaitRollout(ctx context.Context) error {
	return b.cluster.Until(ctx, "the managers", &appsv1.DeploymentList{},
		func(object runtime.Object) bool {
			d, ok := object.(*appsv1.Deployment)
			return ok && d.Status.ObservedGeneration == d.Generation &&
				d.Status.UpdatedReplicas == *d.Spec.Replicas &&
				d.Status.ReadyReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas
		}, client.InNamespace(backend.SystemNamespace))
}

// awaitManagers awaits that as many managers are ready as were killed, and that none is seen any
// more as it was before.
func (b *Backend) awaitManagers(ctx context.Context, killed []corev1.Pod) error {
	ctx, cancel := backend.Within(ctx, backend.Starting, "the managers are not back")
	defer cancel()
	ended := map[string]bool{}
	for i := range killed {
		ended[backend.Containers(&killed[i])[backend.ManagerContainer]] = true
	}
	return b.cluster.Until(ctx, "the managers", &corev1.PodList{}, func(runtime.Object) bool {
		pods, err := backend.ManagerPods(ctx, b.cluster)
		return err == nil && len(pods) == len(killed) &&
			!slices.ContainsFunc(pods, func(p corev1.Pod) bool {
				return !stage.Ready(&p) || ended[backend.Containers(&p)[backend.ManagerContainer]]
			})
	}, client.InNamespace(backend.SystemNamespace), backend.OfManager)
}

// startRegister runs the register, and learns where its writers find it: its address, so that they
// need no DNS.
func (b *Backend) startRegister(ctx context.Context) (url string, err error) {
	name := "register-" + path.Base(nodeDir)
	labels := map[string]string{"app": name}
	if err := b.cluster.ApplyObject(ctx, backend.Namespace(registerNamespace)); err != nil {
		return "", err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: registerNamespace,
		Name:      name,
		Labels:    labels,
	}, Spec: corev1.PodSpec{
		NodeName:    b.nodes.control,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Volumes:     []corev1.Volume{hostDir("register")},
		Containers: []corev1.Container{{
			Name:            "register",
			Image:           b.Image,
			SecurityContext: backend.Confined(),
			Args: []string{"serve", "--listen=:8080",
				"--log=" + nodeDir + "/register/register.jsonl"},
			VolumeMounts: []corev1.VolumeMount{{Name: "register", MountPath: nodeDir + "/register"}},
		}},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: registerNamespace, Name: name},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8080}}}}
	if err := errors.Join(b.cluster.ApplyObject(ctx, pod),
		b.cluster.ApplyObject(ctx, service)); err != nil {
		return "", err
	}
	if err := b.cluster.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(service.Spec.ClusterIP, "8080"), nil
}

// forget removes what an earlier run left on a cluster that was kept.
func (b *Backend) forget(ctx context.Context) error {
	var left corev1.NamespaceList
	if err := b.cluster.List(ctx, &left, client.MatchingLabels(backend.Ours)); err != nil {
		return err
	}
	for _, namespace := range left.Items {
		b.Say("removing %s of an earlier run", namespace.Name)
		if err := b.deleteNamespace(ctx, namespace.Name); err != nil {
			return err
		}
	}
	return nil
}

// deleteNamespace returns when the namespace is gone.
func (b *Backend) deleteNamespace(ctx context.Context, name string) error {
	ctx, cancel := backend.Within(ctx, backend.Settling, "not gone")
	defer cancel()
	return b.cluster.DeleteAndAwait(ctx, backend.Namespace(name))
}

// hostDir is a directory of the node: traces outlive their pods there.
func hostDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: nodeDir + "/" + name}}}
}
