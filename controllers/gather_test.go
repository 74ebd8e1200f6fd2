package controllers

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Endings are dropped when their group is looked at: of pods that are of no group none are kept.
func TestEndingsAreOfGroupsOnly(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(retryLimiter())
	defer q.ShutDown()
	r := &ElectionGroups{Now: func() time.Time { return noon }}
	s := newGuarded(2)
	s.terminated(0)
	s.terminated(1)
	s.pods[1].Labels = map[string]string{v1.GroupLabel: "g"}
	for _, pod := range s.pods {
		r.gatherPods().Create(t.Context(), event.CreateEvent{Object: pod}, q)
		r.gatherPods().Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, q)
	}
	r.endings.mu.Lock()
	defer r.endings.mu.Unlock()
	if len(r.endings.groups) != 1 || len(r.endings.groups[keyIn("g")]) != 1 {
		t.Errorf("taken down: %v", r.endings.groups)
	}
}

// However often a pass fails, the next one comes soon: what waits for time alone is not heard of otherwise.
func TestAFailedPassIsMadeAgainSoon(t *testing.T) {
	limiter, request := retryLimiter(), reconcile.Request{NamespacedName: keyIn("g")}
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
