package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// LeftoverRoles takes the role label off pods without a group, once, when the manager begins to
// lead. A pod that leaves its group while a manager leads loses the label by the watch; one that
// left while none did is not watched any more, and would be routed to by whoever selects the label
// alone.
type LeftoverRoles struct {
	Client client.Client
	Live   client.Reader // asks the API server: the cache holds pods of groups only
	Logger *slog.Logger
}

// retryLeftovers is the time until a sweep that failed is made again.
const retryLeftovers = 5 * time.Second

// NeedLeaderElection has only the leading manager write.
func (*LeftoverRoles) NeedLeaderElection() bool { return true }

// Start sweeps until it has succeeded, or ctx ends.
func (l *LeftoverRoles) Start(ctx context.Context) error {
	for {
		err := l.sweep(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		l.Logger.Warn("pods that left their group may keep the role label", "error", err,
			"retryIn", retryLeftovers)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryLeftovers):
		}
	}
}

func (l *LeftoverRoles) sweep(ctx context.Context) error {
	leftover, err := labels.Parse(v1.RoleLabel + ",!" + v1.GroupLabel)
	if err != nil {
		return err
	}
	pods := &corev1.PodList{}
	if err := l.Live.List(ctx, pods, client.MatchingLabelsSelector{Selector: leftover}); err != nil {
		return fmt.Errorf("find pods with label %s and without a group: %w", v1.RoleLabel, err)
	}
	var problems []error
	for i := range pods.Items {
		pod := byuid.PodOf(&pods.Items[i])
		if _, err := byuid.RemoveLabel(ctx, l.Client, pod, v1.RoleLabel, roleOwner); err != nil {
			problems = append(problems, fmt.Errorf("take label %s off pod %s/%s: %w", v1.RoleLabel,
				pod.Namespace, pod.Name, err))
		}
	}
	return errors.Join(problems...)
}
