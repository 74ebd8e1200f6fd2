package group

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
)

// budgeted returns how many of the writes come out of the budget, and how many there are in all.
func (w *writes) budgeted() (counted, all int) {
	for _, what := range w.all {
		if strings.HasPrefix(what, "podesta-status") || strings.HasPrefix(what, "label") {
			counted++
		}
		if !strings.HasPrefix(what, "publish") {
			all++
		}
	}
	return counted, all
}

// settled is a group of three, at rest, whose manager's writes are noted.
func settled(t *testing.T) (*scene, *Reconciler, *writes) {
	t.Helper()
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.statusAt = s.now
	r, w := writing(t, s)
	r.Recorder = events.NewFakeRecorder(10_000)
	s.applies(t, r)
	s.later(time.Minute)
	s.applies(t, r)
	s.later(time.Minute)
	if coordinatorName(s.observation.published) != "p-2" || s.labels.pods["uid-2"] != "p-2" {
		t.Fatalf("%+v, labels %v", s.observation.published, s.labels.pods)
	}
	w.all = nil
	return s, r, w
}

// flaps has the coordinator change every so often for a time, with a pass after each change and
// whenever the last pass asked for one. It returns the coordinator of the end, and when the last
// pass wants another one.
func (s *scene) flaps(t *testing.T, r *Reconciler, every, during time.Duration) (string,
	time.Duration) {
	t.Helper()
	coordinator, again := "p-2", time.Duration(0)
	for end := s.now.Add(during); s.now.Before(end); {
		coordinator = map[string]string{"p-1": "p-2", "p-2": "p-1"}[coordinator]
		s.sees(coordinator, 0, 1, 2)
		for next := s.now.Add(every); s.now.Before(next); {
			again = s.applies(t, r)
			for uid, name := range s.labels.pods {
				if name != coordinator {
					t.Fatalf("%s coordinates, and the label is still on %s", coordinator, uid)
				}
			}
			pause := sooner(again, next.Sub(s.now))
			again = max(again-pause, 0)
			s.later(pause)
		}
	}
	return coordinator, again
}

// A process that comes and goes all the time does not spend the manager's writes: after the burst
// they come at a steady rate, and none of them takes the label off later. What is written in the
// end is the newest.
func TestWritesOfAGroupThatFlapsAreBounded(t *testing.T) {
	const during = time.Minute
	s, r, w := settled(t)
	coordinator, again := s.flaps(t, r, 400*time.Millisecond, during)
	counted, all := w.budgeted()
	t.Logf("%d writes in %v, %d of them from the budget", all, during, counted)
	if most := writeBurst + int(during/writeEvery); counted > most || counted < most-2 {
		t.Errorf("%d writes in %v: want %d at most, and no fewer than need be", counted, during, most)
	}
	for waited := time.Duration(0); again > 0; again = s.applies(t, r) {
		if waited += again; waited > 3*writeEvery {
			t.Fatalf("the newest is not written %v later", waited)
		}
		s.later(again)
	}
	if got := coordinatorName(s.observation.published); got != coordinator {
		t.Errorf("%s coordinates, and the status names %q", coordinator, got)
	}
	if got := s.labels.pods; len(got) != 1 || got[types.UID("uid-"+coordinator[2:])] != coordinator {
		t.Errorf("%s coordinates, and the label is on %v", coordinator, got)
	}
}

// What one group spends is no other's, and a new group object under the same name begins anew.
func TestEachGroupHasABudgetOfItsOwn(t *testing.T) {
	s, r, _ := settled(t)
	s.flaps(t, r, 100*time.Millisecond, 10*time.Second)
	if s.writes.wait(2, s.now) == 0 {
		t.Fatal("the budget is not spent")
	}
	other := newScene(3).sees("p-2", 0, 1, 2)
	other.now, other.statusAt = s.now, s.now
	other.group.Name = "other"
	r, w := writing(t, other)
	other.applies(t, r)
	other.later(2 * statusWithin)
	w.all = nil
	if again := other.applies(t, r); again != 0 {
		t.Errorf("it waits %v", again)
	}
	if counted, _ := w.budgeted(); counted != 2 {
		t.Errorf("the writes were %q", w.all)
	}
	s.group.UID = "new"
	r = reading(t, s)
	r.states.put(keyIn("g"), s.state)
	o, err := r.observe(t.Context(), keyIn("g"))
	if err != nil || o.writes.wait(writeBurst, o.now) != 0 {
		t.Errorf("a new group object does not begin with a full budget: %v", err)
	}
}

// MC1: a roster is persisted and handed out however much the group has written.
func TestARosterDoesNotWaitForTheBudget(t *testing.T) {
	s, r, w := settled(t)
	s.flaps(t, r, 100*time.Millisecond, 10*time.Second)
	s.pods = append(s.pods, newScene(4).pods[3])
	s.sees("p-2", 3)
	s.statusAt = s.now.Add(-time.Hour) // the pass decides about the status, too, which has to wait
	w.all = nil
	s.applies(t, r)
	persisted := slices.ContainsFunc(w.all,
		func(what string) bool { return strings.HasPrefix(what, "podesta-roster") })
	if !persisted || !strings.HasPrefix(w.all[len(w.all)-1], "publish") {
		t.Errorf("the writes were %q", w.all)
	}
}
