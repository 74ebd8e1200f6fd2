// Package retry says when a pass of a controller that has failed is made again, and which write
// fails for good.
package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Limiter has a pass that failed made again within 5 s, where the usual limit is 1000 s: only a
// pass notices what waits for nothing but time, such as a change of the voters, or an API server
// that takes what it has refused for long.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
		5*time.Millisecond, 5*time.Second)
}
