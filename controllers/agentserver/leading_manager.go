package agentserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

const leaderOwner = client.FieldOwner("podesta-leader")

// MarkLeader puts the leader's label on the manager's own pod, off any other first: so Service
// podesta-roster sends agents to the leading manager only. It writes nothing if that is so already.
// Live must read from the API server: the manager's cache does not hold its own pods.
func MarkLeader(ctx context.Context, c client.Client, live client.Reader,
	namespace, pod string) error {
	marked := &corev1.PodList{}
	labelled := client.HasLabels{v1.LeaderLabel}
	if err := live.List(ctx, marked, client.InNamespace(namespace), labelled); err != nil {
		return fmt.Errorf("find pods with label %s: %w", v1.LeaderLabel, err)
	}
	already := false
	for i := range marked.Items {
		other := &marked.Items[i]
		if other.Name == pod {
			already = other.Labels[v1.LeaderLabel] == "true"
			continue
		}
		_, err := byuid.RemoveLabel(ctx, c, byuid.PodOf(other), v1.LeaderLabel, leaderOwner)
		if err != nil {
			return fmt.Errorf("take label %s off pod %s: %w", v1.LeaderLabel, other.Name, err)
		}
	}
	if already {
		return nil
	}
	own := &corev1.Pod{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, own); err != nil {
		return fmt.Errorf("read the manager's own pod (POD_NAME): %w", err)
	}
	_, err := byuid.SetLabel(ctx, c, byuid.PodOf(own), v1.LeaderLabel, "true", nil, leaderOwner)
	if err != nil {
		return fmt.Errorf("put label %s on pod %s: %w", v1.LeaderLabel, pod, err)
	}
	return nil
}
