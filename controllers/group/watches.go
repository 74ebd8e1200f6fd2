package group

import (
	"context"

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
	"github.com/podesta-dev/podesta/controllers/retry"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager has groups reconciled when they or their Services change, and when there is news
// of their pods or from their agents, which is gathered first (see debounce).
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podsByGroup, groupOfPod)
	if err != nil {
		return err
	}
	reports := source.Func(func(ctx context.Context, q queue) error {
		r.leadsSince = r.Now()
		r.wake = func(key types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: key}) }
		r.Sightings.OnChange(func(namespace, group string) {
			key := types.NamespacedName{Namespace: namespace, Name: group}
			r.news(q, key)
			if r.agreed(key) && r.debounce.complete(key, r.Debounce, r.Now()) {
				q.Add(reconcile.Request{NamespacedName: key})
			}
		})
		if r.Trust != nil {
			r.Trust.OnChange(func(namespace string) { r.trustChanged(ctx, q, namespace) })
		}
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("electiongroup").
		For(&v1.ElectionGroup{}).
		Watches(&corev1.Pod{}, r.podHandler()).
		Owns(&corev1.Service{}).
		WatchesRawSource(reports).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: passesAtOnce,
			RateLimiter:             retry.Limiter(),
		}).
		Complete(r)
}

// podsByGroup is an index of the cached pods. Without it a pass over a group looks at all pods of
// the namespace, which may have many groups.
const podsByGroup = v1.GroupLabel

func groupOfPod(pod client.Object) []string { return []string{pod.GetLabels()[v1.GroupLabel]} }

// passesAtOnce is how many groups are reconciled at a time. A pass spends its time waiting for the
// API server: a new coordinator takes three writes, one after the other. Where each takes 50 ms, 32
// passes write down 213 new coordinators a second. More would make a slow API server slower.
const passesAtOnce = 32

// podHandler enqueues the group that a pod belongs to, and the one that it belonged to, and records
// that a pod of a group has ended.
func (r *Reconciler) podHandler() handler.EventHandler {
	of := func(object client.Object, q queue) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		// Of other pods nothing is recorded: no pass would ever drop it again.
		if group := pod.GetLabels()[v1.GroupLabel]; group != "" {
			key := types.NamespacedName{Namespace: pod.GetNamespace(), Name: group}
			r.endedPods.record(key, pod, r.Now())
			r.news(q, key)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { of(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			of(e.ObjectOld, q)
			of(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { of(e.Object, q) },
	}
}

// trustChanged has the groups of a namespace reconciled: their status tells what is wrong there.
// The groups come from the cache; one that it does not have yet is reconciled when it has.
func (r *Reconciler) trustChanged(ctx context.Context, q queue, namespace string) {
	groups := &v1.ElectionGroupList{}
	if r.Client.List(ctx, groups, client.InNamespace(namespace)) != nil {
		return
	}
	for i := range groups.Items {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups.Items[i])})
	}
}

// news has a group reconciled when its news has been gathered.
func (r *Reconciler) news(q queue, key types.NamespacedName) {
	if r.debounce.add(key, r.Now()) {
		q.AddAfter(reconcile.Request{NamespacedName: key}, r.Debounce)
	}
}

// agreed reports whether the agents of a group agree on something that the status does not show
// yet. Then a pass would learn nothing more by waiting.
func (r *Reconciler) agreed(key types.NamespacedName) bool {
	last, ok := r.states.get(key)
	if !ok {
		return false
	}
	coordinator, epoch, agents := r.Sightings.Agreed(key.Namespace, key.Name)
	return last.lacks(coordinator, epoch, agents)
}
