//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// TestWorkloadsAreKubernetesOwn is one story, too: Kubernetes' own controllers with the pods of this
// cluster.
func TestWorkloadsAreKubernetesOwn(t *testing.T) {
	c, client := clusterWith(t, true)
	t.Run("a Deployment rolls one pod at a time", func(t *testing.T) { rolls(t, client) })
	t.Run("a pod that is not ready stops the rollout", func(t *testing.T) { stopsRolling(t, client) })
	t.Run("an eviction beyond the budget is refused", func(t *testing.T) { refusesEviction(t, client) })
	t.Run("a StatefulSet starts its pods in order", func(t *testing.T) { startsInOrder(t, client) })
	t.Run("a DaemonSet has a pod on the node", func(t *testing.T) { runsOnTheNode(t, client) })
	for app, policy := range map[string]metav1.DeletionPropagation{
		"web": metav1.DeletePropagationForeground, "db": metav1.DeletePropagationBackground,
	} {
		t.Run(fmt.Sprintf("deletion of %s in the %s takes its pods away", app, policy),
			func(t *testing.T) { takesAway(t, client, app, policy) })
	}
	t.Run("killed controllers are started again, and take a namespace away", func(t *testing.T) {
		kill(t, c, "kube-controller-manager")
		namespaceGoes(t, client)
	})
}

// watched is a kind of object that can be watched.
type watched interface {
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// until watches the objects of an app until one is as wanted. It begins with the objects that there
// are, or, if since is a version, with the changes after it.
func until[T any](t *testing.T, of watched, app, since, what string, wanted func(watch.EventType, T) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watcher, err := of.Watch(ctx, metav1.ListOptions{LabelSelector: labels.Set{"app": app}.String(), ResourceVersion: since})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	var last T
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(T)
		if !ok {
			t.Fatalf("waiting until %s is %s: %v", app, what, event.Object)
		}
		if last = object; wanted(event.Type, object) {
			return
		}
	}
	t.Fatalf("%s is not %s: the last change is %+v", app, what, last)
}

// untilPods acts, then watches the pods of an app until all of them are as wanted. It misses no
// change since before it acted.
func untilPods(t *testing.T, client kubernetes.Interface, app, what string, act func(), wanted func(map[string]*corev1.Pod) bool) {
	t.Helper()
	before := podsOf(t, client, app)
	pods := make(map[string]*corev1.Pod)
	for i := range before.Items {
		pods[before.Items[i].Name] = &before.Items[i]
	}
	act()
	if wanted(pods) {
		return
	}
	until(t, client.CoreV1().Pods("default"), app, before.ResourceVersion, what, func(event watch.EventType, pod *corev1.Pod) bool {
		if pods[pod.Name] = pod; event == watch.Deleted {
			delete(pods, pod.Name)
		}
		return wanted(pods)
	})
}

func podsOf(t *testing.T, client kubernetes.Interface, app string) *corev1.PodList {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// alive counts the pods that nobody has deleted, and those among them that are ready.
func alive(pods map[string]*corev1.Pod) (all, unready int) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			all++
			if !ready(pod) {
				unready++
			}
		}
	}
	return all, unready
}

func threeReady(pods map[string]*corev1.Pod) bool {
	all, unready := alive(pods)
	return len(pods) == 3 && all == 3 && unready == 0
}

// template is a pod that serves, and is ready when it does.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app, v1.GroupLabel: app}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{
				Name: "app", Image: "serve", Args: []string{"127.0.0.1:4040"},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(4040)}}},
			}},
		},
	}
}

func metaOf(app string) (metav1.ObjectMeta, *metav1.LabelSelector) {
	is := map[string]string{"app": app}
	return metav1.ObjectMeta{Name: app, Labels: is}, &metav1.LabelSelector{MatchLabels: is}
}

// patch changes the Deployment web.
func patch(t *testing.T, client kubernetes.Interface, text string) {
	t.Helper()
	_, err := client.AppsV1().Deployments("default").Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func rolls(t *testing.T, client kubernetes.Interface) {
	meta, selector := metaOf("web")
	untilPods(t, client, "web", "three ready pods", func() {
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: meta,
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(3)), Selector: selector, Template: template("web"),
				ProgressDeadlineSeconds: new(int32(2)),
				Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}, threeReady)

	most := 0
	untilPods(t, client, "web", "rolled", func() {
		patch(t, client, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	}, func(pods map[string]*corev1.Pod) bool {
		all, unready := alive(pods)
		most = max(most, all)
		if all-unready < 3 {
			t.Errorf("%d of %d pods are ready during the rollout: maxUnavailable is 0", all-unready, all)
		}
		for _, pod := range pods {
			if pod.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
				return false
			}
		}
		return threeReady(pods)
	})
	if most != 4 {
		t.Errorf("there were %d pods at once, want 4: maxSurge is 1", most)
	}
}

func stopsRolling(t *testing.T, client kubernetes.Interface) {
	const probe = `{"spec":{"template":{"spec":{"containers":[{"name":"app","readinessProbe":{"httpGet":{"port":%d}}}]}}}}`
	oneUnready := func(pods map[string]*corev1.Pod) bool {
		all, unready := alive(pods)
		return all == 4 && unready == 1
	}
	patch(t, client, fmt.Sprintf(probe, 9)) // nobody listens there
	until(t, client.AppsV1().Deployments("default"), "web", "", "stuck", func(_ watch.EventType, d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded"
		})
	})
	untilPods(t, client, "web", "three ready pods and one that is not", func() {}, oneUnready)
	untilPods(t, client, "web", "three ready pods", func() { patch(t, client, fmt.Sprintf(probe, 4040)) }, threeReady)
}

func refusesEviction(t *testing.T, client kubernetes.Interface) {
	meta, selector := metaOf("web")
	budgets := client.PolicyV1().PodDisruptionBudgets("default")
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(3)), Selector: selector,
	}}
	if _, err := budgets.Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	allows := func(evictions int32) {
		t.Helper()
		until(t, budgets, "web", "", fmt.Sprintf("a budget of %d evictions", evictions), func(_ watch.EventType, b *policyv1.PodDisruptionBudget) bool {
			return b.Status.ObservedGeneration == b.Generation && b.Status.CurrentHealthy == 3 && b.Status.DisruptionsAllowed == evictions
		})
	}
	victim := podsOf(t, client, "web").Items[0].Name
	evict := func() error {
		return client.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: victim}})
	}
	allows(0)
	if err := evict(); !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("an eviction of one of three pods that must be available: %v, want 429", err)
	}
	if _, err := budgets.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"minAvailable":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	allows(1)
	untilPods(t, client, "web", "three ready pods without "+victim, func() {
		if err := evict(); err != nil {
			t.Errorf("an eviction within the budget: %v", err)
		}
	}, func(pods map[string]*corev1.Pod) bool { return pods[victim] == nil && threeReady(pods) })
}

func startsInOrder(t *testing.T, client kubernetes.Interface) {
	meta, selector := metaOf("db")
	untilPods(t, client, "db", "three ready pods", func() {
		_, err := client.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: meta,
			Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template("db"), ServiceName: "db"},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}, func(pods map[string]*corev1.Pod) bool {
		for i := range len(pods) - 1 {
			if pod := pods[fmt.Sprintf("db-%d", i)]; !ready(pod) {
				t.Errorf("there are %d pods before db-%d is ready", len(pods), i)
			}
		}
		return threeReady(pods)
	})
}

func runsOnTheNode(t *testing.T, client kubernetes.Interface) {
	meta, selector := metaOf("each")
	untilPods(t, client, "each", "ready", func() {
		_, err := client.AppsV1().DaemonSets("default").Create(t.Context(), &appsv1.DaemonSet{
			ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template("each")},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}, func(pods map[string]*corev1.Pod) bool {
		all, unready := alive(pods)
		return all == 1 && unready == 0
	})
}

func takesAway(t *testing.T, client kubernetes.Interface, app string, policy metav1.DeletionPropagation) {
	before := podsOf(t, client, app)
	untilPods(t, client, app, "gone", func() {
		options := metav1.DeleteOptions{PropagationPolicy: &policy}
		err1 := client.AppsV1().Deployments("default").Delete(t.Context(), app, options)
		err2 := client.AppsV1().StatefulSets("default").Delete(t.Context(), app, options)
		if err1 != nil && err2 != nil {
			t.Fatal(errors.Join(err1, err2))
		}
	}, func(pods map[string]*corev1.Pod) bool { return len(pods) == 0 })
	for i := range before.Items {
		over(t, &before.Items[i])
	}
}

func namespaceGoes(t *testing.T, client kubernetes.Interface) {
	namespaces := client.CoreV1().Namespaces()
	meta, _ := metaOf("passing")
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "passing", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, namespaces, "passing", made.ResourceVersion, "gone", func(event watch.EventType, _ *corev1.Namespace) bool {
		return event == watch.Deleted
	})
}
