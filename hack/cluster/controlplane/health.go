package controlplane

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Watch asks the API server every two seconds whether it is alive. It returns nil when the context ends, and an error
// when there was no answer five times in a row.
func (c *ControlPlane) Watch(ctx context.Context) error {
	const period, most = 2 * time.Second, 5
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for failures := 0; failures < most; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		asking, cancel := context.WithTimeout(ctx, period)
		err = client.Discovery().RESTClient().Get().AbsPath("/livez").Do(asking).Error()
		cancel()
		failures++
		if err == nil {
			failures = 0
		}
	}
	return fmt.Errorf("the API server does not answer any more: %w", err)
}
