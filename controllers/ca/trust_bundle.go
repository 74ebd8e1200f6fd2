package ca

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/retry"
)

// TrustBundle keeps the ConfigMap with the CA bundle in every namespace that has a group, or a pod
// that wants to join one, so that agents know the manager before they have spoken to it; and in the
// manager's own, for those who scrape its metrics. It stays when the last group is deleted: it is
// no secret, and a pod may still mount it.
type TrustBundle struct {
	Client   client.Client
	Problems *TrustProblems

	own     string                 // the manager's namespace
	bundle  atomic.Pointer[string] // PEM
	changed chan event.GenericEvent
}

// NewTrustBundle returns a TrustBundle of a manager with that namespace. It writes nothing before
// Distribute.
func NewTrustBundle(c client.Client, own string) *TrustBundle {
	return &TrustBundle{
		Client:   c,
		Problems: NewTrustProblems(),
		own:      own,
		changed:  make(chan event.GenericEvent, 1),
	}
}

const trustOwner = client.FieldOwner("podesta-trust")

// awaitBundle is how long a ConfigMap waits that is wanted before this manager has read the CA.
const awaitBundle = 500 * time.Millisecond

// Distribute replaces the bundle and has all ConfigMaps written anew. It does not wait for that.
// Any goroutine may call it.
func (t *TrustBundle) Distribute(bundlePEM []byte) {
	bundle := string(bundlePEM)
	t.bundle.Store(&bundle)
	select {
	case t.changed <- event.GenericEvent{Object: &corev1.ConfigMap{}}:
	default: // it was said already, and nobody has read it yet
	}
}

// Reconcile writes the bundle into the ConfigMap that the request names, if it says anything else
// and is wanted.
func (t *TrustBundle) Reconcile(ctx context.Context,
	request reconcile.Request) (reconcile.Result, error) {
	bundle := t.bundle.Load()
	if bundle == nil {
		return reconcile.Result{RequeueAfter: awaitBundle}, nil
	}
	found, err := t.find(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	writes := repair(found, *bundle)
	if len(writes) == 0 {
		t.Problems.note(request.Namespace, "")
		return reconcile.Result{}, nil
	}
	wanted, err := t.wanted(ctx, request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !wanted {
		t.Problems.note(request.Namespace, "")
		return reconcile.Result{}, nil
	}
	err = t.apply(ctx, request.NamespacedName, found, writes, *bundle)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsNotFound(err) { // the namespace ends, or is gone: nobody will need it
		t.Problems.note(request.Namespace, "")
		return reconcile.Result{}, nil
	}
	if !apierrors.IsConflict(err) { // it has changed meanwhile: the next pass tries again
		t.Problems.wrote(request.Namespace, err, time.Now())
	}
	return reconcile.Result{}, err
}

// find reads a ConfigMap; nil if there is none.
func (t *TrustBundle) find(
	ctx context.Context, key types.NamespacedName,
) (*corev1.ConfigMap, error) {
	found := &corev1.ConfigMap{}
	if err := t.Client.Get(ctx, key, found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return found, nil
}

// A trustWrite is one write to the ConfigMap of a namespace.
type trustWrite string

const (
	deleteImmutable trustWrite = "delete" // what is immutable can only be made again
	dropBinaryData  trustWrite = "drop binaryData"
	applyBundle     trustWrite = "apply"
)

// repair decides what is to be written, in this order, so that the ConfigMap that was found says
// the bundle; found is nil if there is none. One that has the right bundle is repaired, too, if no
// later one could be written to it: it is immutable, or binaryData may have a key of that name.
func repair(found *corev1.ConfigMap, bundle string) []trustWrite {
	switch {
	case found == nil:
		return []trustWrite{applyBundle}
	case ptr.Deref(found.Immutable, false):
		return []trustWrite{deleteImmutable, applyBundle}
	case len(found.BinaryData) > 0:
		return []trustWrite{dropBinaryData, applyBundle}
	case found.Data[v1.TrustKey] != bundle:
		return []trustWrite{applyBundle}
	}
	return nil
}

// apply does the writes, until one fails. The first two change nothing but what was found.
func (t *TrustBundle) apply(ctx context.Context, key types.NamespacedName, found *corev1.ConfigMap,
	writes []trustWrite, bundle string) (err error) {
	for _, w := range writes {
		switch w {
		case deleteImmutable:
			err = client.IgnoreNotFound(t.Client.Delete(ctx, found,
				client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}))
		case dropBinaryData:
			patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"binaryData":null}`,
				found.ResourceVersion)
			err = t.Client.Patch(ctx, found, client.RawPatch(types.MergePatchType, patch))
		case applyBundle:
			desired := corev1ac.ConfigMap(key.Name, key.Namespace).
				WithData(map[string]string{v1.TrustKey: bundle})
			err = t.Client.Apply(ctx, desired, trustOwner, client.ForceOwnership)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether the namespace has a group or a pod of one, or is the manager's.
func (t *TrustBundle) wanted(ctx context.Context, namespace string) (bool, error) {
	if namespace == t.own {
		return true, nil
	}
	groups := &v1.ElectionGroupList{}
	if err := t.Client.List(ctx, groups, client.InNamespace(namespace),
		client.Limit(1)); err != nil || len(groups.Items) > 0 {
		return len(groups.Items) > 0, err
	}
	pods := &corev1.PodList{}
	err := t.Client.List(ctx, pods, client.InNamespace(namespace), client.HasLabels{v1.GroupLabel},
		client.Limit(1))
	return len(pods.Items) > 0, err
}

// all returns the ConfigMaps that exist, and that of the manager's namespace. Another one that is
// wanted and missing is on its way already.
func (t *TrustBundle) all(ctx context.Context, _ client.Object) []reconcile.Request {
	found := &corev1.ConfigMapList{}
	if err := t.Client.List(ctx, found); err != nil { // from the cache: it cannot fail in operation
		ctrl.LoggerFrom(ctx).Error(err, "list the trust ConfigMaps")
	}
	requests := []reconcile.Request{requestFor(t.own)}
	for i := range found.Items {
		requests = append(requests, requestFor(found.Items[i].Namespace))
	}
	return requests
}

// requestFor returns the request for the ConfigMap of a namespace.
func requestFor(namespace string) reconcile.Request {
	return reconcile.Request{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap},
	}
}

// SetupWithManager watches the ConfigMaps themselves, the bundle, and groups and pods as they
// appear.
func (t *TrustBundle) SetupWithManager(mgr ctrl.Manager) error {
	ofNamespace := handler.EnqueueRequestsFromMapFunc(
		func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{requestFor(o.GetNamespace())}
		},
	)
	appearing := builder.WithPredicates(predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("trust").
		For(&corev1.ConfigMap{}).
		Watches(&v1.ElectionGroup{}, ofNamespace, appearing).
		Watches(&corev1.Pod{}, ofNamespace, appearing).
		WatchesRawSource(source.Channel(t.changed, handler.EnqueueRequestsFromMapFunc(t.all))).
		WithOptions(controller.Options{RateLimiter: retry.Limiter()}).
		Complete(t)
}
