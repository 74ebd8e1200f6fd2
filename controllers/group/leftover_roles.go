package group

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
	"github.com/podesta-dev/podesta/internal/backoff"
)

// LeftoverRoles takes the role label off pods without a group when the manager begins to lead, and
// once more a minute later. A pod that leaves its group while a manager leads loses the label by
// the watch; one that left while none did, or before the first pass over its group, is not known
// any more, and would be routed to by whoever selects the label alone.
type LeftoverRoles struct {
	Client client.Client
	Live   client.Reader // asks the API server: the cache holds pods of groups only
	// Namespaces are those that the manager is restricted to. If empty, it sweeps all of them.
	Namespaces []string
	Logger     *slog.Logger
}

// A sweep that failed is made again, by and by less often: each reads the pods of all namespaces,
// and a pod that cannot be changed may stay so for days.
const (
	retryLeftovers       = 5 * time.Second
	retryLeftoversAtMost = 5 * time.Minute
	// secondSweep is when the second one comes: by then each group has had a pass.
	secondSweep = time.Minute
)

// NeedLeaderElection has only the leading manager write.
func (*LeftoverRoles) NeedLeaderElection() bool { return true }

// Start sweeps until it has succeeded twice, or ctx ends.
func (l *LeftoverRoles) Start(ctx context.Context) error {
	l.untilDone(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(secondSweep):
		l.untilDone(ctx)
	}
	return nil
}

// untilDone sweeps until it has succeeded, or ctx ends.
func (l *LeftoverRoles) untilDone(ctx context.Context) {
	for failures := 1; ; failures++ {
		err := l.sweep(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		again := backoff.Ceiling(retryLeftovers, retryLeftoversAtMost, failures)
		l.Logger.Warn("pods that left their group may keep the role label", "error", err,
			"retryIn", again)
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

func (l *LeftoverRoles) sweep(ctx context.Context) error {
	leftover, err := labels.Parse(v1.RoleLabel + ",!" + v1.GroupLabel)
	if err != nil {
		return err
	}
	namespaces := l.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var all []corev1.Pod
	for _, namespace := range namespaces {
		pods := &corev1.PodList{}
		err := l.Live.List(ctx, pods, client.InNamespace(namespace),
			client.MatchingLabelsSelector{Selector: leftover})
		if err != nil {
			return fmt.Errorf("find pods with label %s and without a group: %w", v1.RoleLabel, err)
		}
		all = append(all, pods.Items...)
	}
	failed := 0
	var first error
	for i := range all {
		pod := byuid.PodOf(&all[i])
		if _, err := byuid.RemoveLabel(ctx, l.Client, pod, v1.RoleLabel, roleOwner); err != nil {
			if failed++; failed == 1 {
				first = fmt.Errorf("take label %s off pod %s/%s: %w", v1.RoleLabel, pod.Namespace,
					pod.Name, err)
			}
		}
	}
	if failed > 1 {
		return fmt.Errorf("%d pods, of which the first: %w", failed, first)
	}
	return first
}
