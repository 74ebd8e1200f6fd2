package podrunner

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// requestTimeout bounds every request to the API server.
const requestTimeout = 5 * time.Second

const fieldManager = "podesta-podrunner"

// report is what the pod's goroutine wants the API server to know.
type report struct {
	status corev1.PodStatus
	// over: after this the object is to be deleted for good.
	over bool
}

// writer writes one pod's status. Reports that come while one is written replace each other: only
// the latest counts.
type writer struct {
	client    kubernetes.Interface
	log       *slog.Logger
	namespace string
	name      string
	uid       types.UID
	reports   chan report // holds one
}

// offer hands over a report and never blocks. Only one goroutine may call it.
func (w *writer) offer(r report) {
	select {
	case <-w.reports: // the writer has not come to it
	default:
	}
	w.reports <- r
}

// run writes until the context ends, or the pod is deleted or turns out to be gone.
func (w *writer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-w.reports:
			if w.persist(ctx, r) {
				return
			}
		}
	}
}

// persist writes a report, or a later one, until it succeeds. It tells whether there is nothing
// more to write.
func (w *writer) persist(ctx context.Context, r report) (done bool) {
	const first, most = 50 * time.Millisecond, 2 * time.Second
	for wait := first; ; wait = min(2*wait, most) {
		err := w.write(ctx, r)
		switch {
		case err == nil:
			return r.over
		// another pod of that name: ours is gone
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			return true
		case ctx.Err() != nil: // the object vanished before we were told that our deletion did it
			return true
		}
		w.log.Warn("writing a pod's status", "namespace", w.namespace, "pod", w.name, "error", err)
		select {
		case <-ctx.Done():
			return true
		case r = <-w.reports:
		case <-time.After(wait):
		}
	}
}

func (w *writer) write(ctx context.Context, r report) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": w.name, "namespace": w.namespace, "uid": w.uid},
		"status":   r.status,
	})
	if err != nil {
		return err
	}
	force := true
	pods := w.client.CoreV1().Pods(w.namespace)
	_, err = pods.Patch(ctx, w.name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force}, "status")
	if err != nil || !r.over {
		return err
	}
	now := int64(0)
	return pods.Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
}
