package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// DefaultGather is how long news of a group is gathered, unless told otherwise.
const DefaultGather = 100 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager has groups reconciled on changes of their own and of their Services at once, and on news of their pods and from their agents after
// they have been gathered. The queue holds a group once, however much news there is.
func (r *ElectionGroups) SetupWithManager(mgr ctrl.Manager) error {
	reports := source.Func(func(_ context.Context, q queue) error {
		r.leading = r.Now()
		r.Sightings.OnChange(func(namespace, group string) { r.enqueue(q, namespace, group) })
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("electiongroup").
		For(&v1.ElectionGroup{}).
		Watches(&corev1.Pod{}, r.gatherPods()).
		Owns(&corev1.Service{}).
		WatchesRawSource(reports).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: retryLimiter()}).
		Complete(r)
}

// retryLimiter has a pass that fails made again after 5 s at most, and not, as is the rule elsewhere, after 1000 s: what waits for
// time alone, such as a step of the voters, is looked at by the next pass only.
func retryLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 5*time.Second)
}

// gatherPods enqueues the group that a pod belongs to, and the one that it belonged to, and takes down that a pod of a group has ended.
func (r *ElectionGroups) gatherPods() handler.EventHandler {
	of := func(object client.Object, q queue) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		if group := pod.GetLabels()[v1.GroupLabel]; group != "" { // what is taken down of other pods, no pass would drop again
			r.endings.saw(pod, r.Now())
			r.enqueue(q, pod.GetNamespace(), group)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { of(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			of(e.ObjectOld, q)
			of(e.ObjectNew, q)
		},
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { of(e.Object, q) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { of(e.Object, q) },
	}
}

func (r *ElectionGroups) enqueue(q queue, namespace, group string) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: group}}, r.Gather)
}
