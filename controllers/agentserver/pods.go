package agentserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// WatchPods calls gone with the UID of each pod that leaves the cache: it was deleted, or lost the
// label of its group.
func WatchPods(ctx context.Context, c cache.Informers, gone func(uid string)) error {
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	left := func(object any) {
		if unseen, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = unseen.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			gone(string(pod.UID))
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			is, ok := after.(*corev1.Pod)
			was, too := before.(*corev1.Pod)
			if ok && too && is.UID != was.UID { // another pod of the name, while nobody watched
				left(was)
			}
		},
		DeleteFunc: left,
	})
	return err
}
