package group

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Each pod whose label names no group has one event. Its agent knows what it waits for, and the
// group that is probably meant names the pod. A group may be made some seconds after its pods.
func TestPodsWhoseLabelNamesNoGroup(t *testing.T) {
	s := newScene(2)
	s.group.Name = "app"
	r := reading(t, s)
	recorded := events.NewFakeRecorder(10)
	r.Recorder = recorded
	var woken []string
	r.wake = func(key types.NamespacedName) { woken = append(woken, key.Name) }
	told := r.Rosters.(*writes)
	pass := func(wait time.Duration, hold string, events, wakes int) {
		t.Helper()
		woken = nil
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn(absent)})
		if err != nil || result.RequeueAfter != wait {
			t.Errorf("again after %v, want %v; %v", result.RequeueAfter, wait, err)
		}
		if told.hold.Reason != hold || told.hold.Ready {
			t.Errorf("agents are told %+v, want %q", told.hold, hold)
		}
		if len(recorded.Events) != events || len(woken) != wakes {
			t.Errorf("%d events, want %d; woken %q, want %d", len(recorded.Events), events, woken, wakes)
		}
		for len(recorded.Events) > 0 {
			e := <-recorded.Events
			if !strings.HasPrefix(e, "Warning GroupMissing group apps does not exist in this namespace; there is app. ") {
				t.Errorf("event %q", e)
			}
		}
	}
	const why = "group apps does not exist in this namespace; there is app"
	near := func(want string) {
		t.Helper()
		if got := r.wrong.near(keyIn("app"), r.Now()); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("the group says %q, want %q", got, want)
		}
	}
	pass(groupMayFollow, "", 0, 0)
	near("")
	s.now = s.now.Add(groupMayFollow)
	pass(0, why, 2, 1)
	near("p-0, p-1 have the label podesta.dev/group=apps, and no such group exists")
	pass(0, why, 0, 0)
	s.adds(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p-2", UID: "uid-2"}})
	pass(0, why, 1, 1)
	gone := metav1.NewTime(s.now)
	for _, pod := range s.pods {
		pod.DeletionTimestamp = &gone
	}
	pass(0, "", 0, 1)
	near("")
	if len(r.wrong.in) != 0 {
		t.Errorf("without pods there is %v", r.wrong.in)
	}
}

// A group that is made later may be the one that is meant.
func TestAGroupThatMayBeMeant(t *testing.T) {
	s := newScene(1)
	s.group.Name = "app"
	r := reading(t, s)
	var woken []string
	r.wake = func(key types.NamespacedName) { woken = append(woken, key.Name) }
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn(absent)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{absent}, nil} {
		woken = nil
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyIn("app")})
		if !errors.Is(err, errUnwritten) || !slices.Equal(woken, want) {
			t.Errorf("%v; it wakes %q, want %q", err, woken, want)
		}
	}
}

func TestWhichGroupIsProbablyMeant(t *testing.T) {
	for _, c := range []struct {
		label  string
		groups []string
		says   string
		like   string
	}{
		{"apps", nil, "which has no group", ""},
		{"apps", []string{"app"}, "there is app", "app"},
		{"apps", []string{"billing", "ap", "app"}, "there are app, ap, billing", "app"},
		{"scheduler-v2", []string{"scheduler"}, "there is scheduler", "scheduler"},
		{"schedular", []string{"scheduler", "schedulers"}, "there are scheduler, schedulers", "scheduler"},
		{"billing", []string{"app"}, "there is app", ""},
		{"b", []string{"a"}, "there is a", ""},
	} {
		byLikeness(c.groups, c.label)
		if says := missingGroup(c.label, c.groups); !strings.HasSuffix(says, c.says) {
			t.Errorf("of %s: %q, want %q", c.label, says, c.says)
		}
		like := ""
		if len(c.groups) > 0 && alike(c.groups[0], c.label) {
			like = c.groups[0]
		}
		if like != c.like {
			t.Errorf("%s is probably meant to be %q, want %q", c.label, like, c.like)
		}
	}
}

// The status of the group that is probably meant names the pods.
func TestAGroupNamesPodsThatAreProbablyMeantForIt(t *testing.T) {
	s := voting(3)
	s.strays = "web-0 has the label podesta.dev/group=apps"
	d := decideStatus(s.observation, decideRoster(s.observation))
	if !slices.Contains(d.degraded, reasonPodsMislabelled) {
		t.Errorf("it is degraded for %q", d.degraded)
	}
}
