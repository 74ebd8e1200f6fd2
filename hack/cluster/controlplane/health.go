package controlplane

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
)

// patience is how long the API server may be away. It is long: what etcd's and the API server's
// absence does is for tests to see.
const patience = 5 * time.Minute

// Watch asks the API server every two seconds whether it is alive. It returns nil when the context
// ends, and an error when there was no answer for patience.
func (c *ControlPlane) Watch(ctx context.Context) error {
	const period = 2 * time.Second
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for answered := time.Now(); time.Since(answered) < patience; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		asking, cancel := context.WithTimeout(ctx, period)
		err = client.Discovery().RESTClient().Get().AbsPath("/livez").Do(asking).Error()
		cancel()
		if err == nil {
			answered = time.Now()
		}
	}
	return fmt.Errorf("the API server has not answered for %s: %w", patience, err)
}
