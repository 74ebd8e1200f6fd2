package retry_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/podesta-dev/podesta/controllers/retry"
)

// However often a pass fails, the next one comes soon: what waits for time alone is not noticed
// otherwise.
func TestAFailedPassIsMadeAgainSoon(t *testing.T) {
	limiter := retry.Limiter()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "g"}}
	if first := limiter.When(request); first != 5*time.Millisecond {
		t.Errorf("the first time after %v", first)
	}
	for range 100 {
		limiter.When(request)
	}
	if last := limiter.When(request); last != 5*time.Second {
		t.Errorf("after 100 failures it waits %v", last)
	}
}
