package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/stage"
)

const (
	mergePatch = types.MergePatchType
	// starting is how long the installation may take to be ready.
	starting = 3 * time.Minute
	// registerNamespace is where the register runs, on the control plane's node, which is never paused.
	registerNamespace = "chaos-register"
)

func from(resourceVersion string) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: resourceVersion}}
}

// setUp connects to the cluster, prepares the nodes, installs Podesta, and starts the register.
func (r *runner) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, starting, fmt.Errorf("not ready within %v", starting))
	defer cancel()
	if err := r.connect(); err != nil {
		return err
	}
	r.table.say("preparing the nodes")
	var err error
	if r.nodes, err = findNodes(ctx, r.cluster); err != nil {
		return err
	}
	r.report.Nodes = len(r.nodes.all())
	if err := r.forget(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.nodes.prepare(ctx, r.node), r.nodes.checkClocks(ctx)); err != nil {
		return err
	}
	r.table.say("installing Podesta, and the register")
	for _, file := range r.manifests {
		if err := r.ApplyFile(ctx, file); err != nil {
			return err
		}
	}
	if err := r.startRegister(ctx); err != nil {
		return err
	}
	return r.awaitRollout(ctx)
}

// connect opens the cluster. What is applied brings its own namespaces.
func (r *runner) connect() (err error) {
	if r.Stage, err = stage.Connect(r.kubeconfig, "", ""); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		return err
	}
	versions, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	version, err := versions.ServerVersion()
	if err != nil {
		return err
	}
	r.report.Kubernetes = version.GitVersion
	return nil
}

// applyObject applies an object of ours.
func (r *runner) applyObject(ctx context.Context, object client.Object) error {
	text, err := r.yamlOf(object)
	if err != nil {
		return err
	}
	return r.ApplyYAML(ctx, object.GetName(), text)
}

func (r *runner) yamlOf(object client.Object) ([]byte, error) {
	kind, err := r.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return yaml.Marshal(object)
}

// managers are the manager's pods.
func (r *runner) managers(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.List(ctx, &pods, client.InNamespace(systemNamespace), ofManager)
	return pods.Items, err
}

var ofManager = client.MatchingLabels{"app.kubernetes.io/component": "manager"}

// awaitRollout awaits that the managers are those that were just installed, and ready.
func (r *runner) awaitRollout(ctx context.Context) error {
	for ctx.Err() == nil {
		watch, err := r.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(systemNamespace))
		if err != nil {
			return err
		}
		for e := range watch.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok && d.Status.ObservedGeneration == d.Generation &&
				d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.ReadyReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas {
				watch.Stop()
				return nil
			}
		}
	}
	return fmt.Errorf("the managers: %w", context.Cause(ctx))
}

// awaitManagers awaits that as many managers are ready as were killed, and that none is seen any more as it was before.
func (r *runner) awaitManagers(ctx context.Context, killed []corev1.Pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, starting, fmt.Errorf("the managers are not back within %v", starting))
	defer cancel()
	ended := map[string]bool{}
	for i := range killed {
		ended[containers(&killed[i])[managerContainer]] = true
	}
	for ctx.Err() == nil {
		watch, err := r.Watch(ctx, &corev1.PodList{}, client.InNamespace(systemNamespace), ofManager)
		if err != nil {
			return err
		}
		for range watch.ResultChan() {
			pods, err := r.managers(ctx)
			if err == nil && len(pods) == len(killed) && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
				return !stage.Ready(&p) || ended[containers(&p)[managerContainer]]
			}) {
				watch.Stop()
				return nil
			}
		}
	}
	return context.Cause(ctx)
}

// startRegister runs the register, and learns where its writers find it: its address, so that they need no DNS.
func (r *runner) startRegister(ctx context.Context) error {
	name := "register-" + path.Base(nodeDir)
	labels := map[string]string{"app": name}
	if err := r.applyObject(ctx, namespaceOf(registerNamespace)); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: registerNamespace, Name: name, Labels: labels}, Spec: corev1.PodSpec{
		NodeName:    r.nodes.control,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Volumes:     []corev1.Volume{hostDir("register")},
		Containers: []corev1.Container{{Name: "register", Image: r.registerImage, SecurityContext: confined(),
			Args:         []string{"serve", "--listen=:8080", "--log=" + nodeDir + "/register/register.jsonl"},
			VolumeMounts: []corev1.VolumeMount{{Name: "register", MountPath: nodeDir + "/register"}},
		}},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: registerNamespace, Name: name},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8080}}}}
	if err := errors.Join(r.applyObject(ctx, pod), r.applyObject(ctx, service)); err != nil {
		return err
	}
	if err := r.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return err
	}
	r.registerURL = "http://" + net.JoinHostPort(service.Spec.ClusterIP, "8080")
	return nil
}

// create makes the groups of a phase and their pods.
func (r *runner) create(ctx context.Context, groups []*group) error {
	if err := r.applyObject(ctx, namespaceOf(groups[0].namespace)); err != nil {
		return err
	}
	for _, g := range groups {
		if err := errors.Join(r.applyObject(ctx, g.election()), r.applySet(ctx, g)); err != nil {
			return err
		}
	}
	return nil
}

// applySet applies a group's StatefulSet. Agents of an earlier version are written into it; others are injected by the policy.
func (r *runner) applySet(ctx context.Context, g *group) error {
	set := g.set(r.options, r.registerURL)
	set.Spec.Template.Annotations["podesta.dev/chaos-restarts"] = fmt.Sprint(g.restarts)
	text, err := r.yamlOf(set)
	if err != nil {
		return err
	}
	if g.previous {
		install, err := inject.NewInstall(r.previousImage, "", systemNamespace)
		if err != nil {
			return err
		}
		if text, _, err = inject.Manifests(text, install); err != nil {
			return err
		}
	}
	return r.ApplyYAML(ctx, g.name, text)
}

// ours marks the namespaces of a run.
var ours = map[string]string{"podesta.dev/chaos": "true"}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ours}}
}

// forget takes away what an earlier run has left on a cluster that was kept.
func (r *runner) forget(ctx context.Context) error {
	var left corev1.NamespaceList
	if err := r.List(ctx, &left, client.MatchingLabels(ours)); err != nil {
		return err
	}
	for i := range left.Items {
		r.table.say("removing %s of an earlier run", left.Items[i].Name)
		if err := r.remove(ctx, &left.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a namespace, and returns when it is gone.
func (r *runner) remove(ctx context.Context, namespace *corev1.Namespace) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settling, fmt.Errorf("namespace %s is not gone within %v", namespace.Name, settling))
	defer cancel()
	for ctx.Err() == nil {
		watch, err := r.Watch(ctx, &corev1.NamespaceList{}, client.MatchingFields{"metadata.name": namespace.Name})
		if err != nil {
			return err
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, namespace)); err != nil {
			return err
		}
		gone := apierrors.IsNotFound(r.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		for !gone {
			e, more := <-watch.ResultChan()
			if gone = e.Type == apiwatch.Deleted; !more {
				break
			}
		}
		if watch.Stop(); gone {
			return nil
		}
	}
	return context.Cause(ctx)
}

// sweep removes what the pods of a phase have left in the nodes, which was fetched.
func (r *runner) sweep(ctx context.Context) error {
	return each(r.nodes.workers, func(node string) error {
		_, err := docker(ctx, "exec", node, "sh", "-c", "rm -rf "+nodeDir+"/traces/* "+nodeDir+"/logs")
		return err
	})
}

func newEviction(p *corev1.Pod) *policyv1.Eviction {
	return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
}
