package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// MarkLeader puts the leader's label on the manager's own pod, off any other first: Service podesta-roster then leads agents
// to the leading manager only. Live must read from the API server: the manager's cache does not hold its own pods.
func MarkLeader(ctx context.Context, c client.Client, live client.Reader, namespace, pod string) error {
	marked := &corev1.PodList{}
	if err := live.List(ctx, marked, client.InNamespace(namespace), client.HasLabels{v1.LeaderLabel}); err != nil {
		return fmt.Errorf("find pods with label %s: %w", v1.LeaderLabel, err)
	}
	for i := range marked.Items {
		other := &marked.Items[i]
		if other.Name == pod {
			continue
		}
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:null}}}`, other.UID, v1.LeaderLabel)
		err := c.Patch(ctx, other, client.RawPatch("application/merge-patch+json", []byte(patch)), leaderOwner)
		if err := ignoreReplaced(err); err != nil {
			return fmt.Errorf("take label %s off pod %s: %w", v1.LeaderLabel, other.Name, err)
		}
	}
	own := &corev1.Pod{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, own); err != nil {
		return fmt.Errorf("read the manager's own pod (POD_NAME): %w", err)
	}
	label := corev1ac.Pod(pod, namespace).WithUID(own.UID).WithLabels(map[string]string{v1.LeaderLabel: "true"})
	if err := c.Apply(ctx, label, leaderOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("put label %s on pod %s: %w", v1.LeaderLabel, pod, err)
	}
	return nil
}
