package group

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/retry"
)

// News is taken once the oldest of it has waited for the window, however much comes after it.
func TestNewsIsGathered(t *testing.T) {
	const window = 100 * time.Millisecond
	var d debounce
	now := noon
	add := func(first bool) {
		t.Helper()
		if got := d.add(keyIn("g"), now); got != first {
			t.Errorf("first: %v, want %v", got, first)
		}
	}
	take := func(group string, want time.Duration) {
		t.Helper()
		if got := d.take(keyIn(group), window, now); got != want {
			t.Errorf("wait for %v, want %v", got, want)
		}
	}
	take("g", 0) // there is none
	add(true)
	take("g", window)
	take("other", 0)
	now = now.Add(70 * time.Millisecond)
	add(false)
	take("g", 30*time.Millisecond)
	now = now.Add(30 * time.Millisecond)
	take("g", 0)
	take("g", 0) // taken
	add(true)
	take("g", window)
}

// News that is complete is taken at once, but only the first of a window: a group that changes all
// the time is gathered as ever.
func TestCompleteNewsIsTakenAtOnce(t *testing.T) {
	const window = 100 * time.Millisecond
	var d debounce
	key, now := keyIn("g"), noon
	if d.complete(key, window, now) {
		t.Error("there is no news")
	}
	d.add(key, now)
	if !d.complete(key, window, now) || d.take(key, window, now) != 0 {
		t.Error("complete news waits")
	}
	now = now.Add(window - 1)
	d.add(key, now)
	if d.complete(key, window, now) || d.take(key, window, now) != window {
		t.Error("the second news within a window does not wait")
	}
	now = now.Add(1)
	if !d.complete(key, window, now) || d.take(key, window, now) != 0 {
		t.Error("complete news waits for longer than a window after the last")
	}
	if d.drop(key); len(d.groups) != 0 {
		t.Errorf("a group that was deleted is kept: %v", d.groups)
	}
}

// The loss of a leaseholder makes a pass after a window, which may be as long as its lease. What the
// others agree on right after that does not wait for another window.
func TestAgreementAfterAPassThatWaited(t *testing.T) {
	const window = 100 * time.Millisecond
	var d debounce
	key, now := keyIn("g"), noon
	d.add(key, now)
	if now = now.Add(window); d.take(key, window, now) != 0 {
		t.Error("what has waited for a window waits on")
	}
	now = now.Add(window / 20)
	if d.add(key, now); !d.complete(key, window, now) || d.take(key, window, now) != 0 {
		t.Error("what is complete waits after a pass that has waited")
	}
	now = now.Add(window / 20)
	if d.add(key, now); d.complete(key, window, now) {
		t.Error("the second within a window does not wait")
	}
}

// What a majority of the roster agrees on, and the status does not show, need not wait.
func TestWhatTheStatusLacks(t *testing.T) {
	s := voting(3)
	last := s.state
	if last.lacks("p-2", 7, 3) {
		t.Error("this manager has written no status yet: it may not know what is there")
	}
	last.wrote(v1.ElectionGroupStatus{Coordinator: &v1.CoordinatorStatus{Name: "p-2", Epoch: 7}}, "1")
	for _, c := range []struct {
		coordinator string
		epoch       int64
		agents      int
		lacks       bool
	}{
		{"p-2", 7, 3, false}, {"p-1", 8, 2, true}, {"p-2", 8, 3, true}, {"p-1", 8, 1, false}, {"", 0, 0, false},
	} {
		if got := last.lacks(c.coordinator, c.epoch, c.agents); got != c.lacks {
			t.Errorf("%d agents agree on %q under %d: %v", c.agents, c.coordinator, c.epoch, got)
		}
	}
}

// A group that news comes in for is reconciled no sooner than the news has been gathered, whatever
// wakes the controller.
func TestAPassWaitsForNews(t *testing.T) {
	s := newScene(3)
	r := reading(t, s)
	q := workqueue.NewTypedRateLimitingQueue(retry.Limiter())
	defer q.ShutDown()
	r.news(q, keyIn("g"))
	s.now = s.now.Add(DefaultDebounce / 4)
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("g")})
	if err != nil || result.RequeueAfter != DefaultDebounce*3/4 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// Pods that have ended are dropped when their group is reconciled: of pods that are in no group
// none are recorded.
func TestEndedPodsAreOfGroupsOnly(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(retry.Limiter())
	defer q.ShutDown()
	r := &Reconciler{Now: func() time.Time { return noon }}
	s := newGuarded(2)
	s.terminated(0)
	s.terminated(1)
	s.pods[1].Labels = map[string]string{v1.GroupLabel: "g"}
	for _, pod := range s.pods {
		r.podHandler().Create(t.Context(), event.CreateEvent{Object: pod}, q)
		r.podHandler().Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, q)
	}
	r.endedPods.mu.Lock()
	defer r.endedPods.mu.Unlock()
	if len(r.endedPods.groups) != 1 || len(r.endedPods.groups[keyIn("g")]) != 1 {
		t.Errorf("recorded: %v", r.endedPods.groups)
	}
}
