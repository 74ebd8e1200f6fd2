package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// writes are what a manager writes and tells, in order. They stand in for an API server, which
// takes everything but what refuse says; and they are the Publisher.
type writes struct {
	all     []string
	status  []*unstructured.Unstructured // that were applied
	patches []string                     // of a status
	version int                          // resource version of the last write
	refuse  func(what string) error
	held    roster.Roster // that agents have shown; the zero Roster: none
	hold    roster.Hold   // that agents were told last
}

func (w *writes) note(what string) error {
	w.all = append(w.all, what)
	if w.refuse != nil {
		return w.refuse(what)
	}
	w.version++
	return nil
}

func (w *writes) Publish(r roster.Roster)         { _ = w.note(fmt.Sprint("publish ", r.Generation)) }
func (w *writes) Disband(_, group string)         { _ = w.note("disband " + group) }
func (w *writes) Hold(_, _ string, h roster.Hold) { w.hold = h }
func (w *writes) Recall(_, group string)          { _ = w.note("recall " + group) }

func (w *writes) Grace() time.Duration { return 7 * time.Second }
func (w *writes) Returning() time.Time { return noon }

func (w *writes) Held(_, _ string) (roster.Roster, bool) { return w.held, w.held.GroupUID != "" }

// applied is what is applied to a status: the methods of an Unstructured.
type applied interface {
	metav1.Object
	UnstructuredContent() map[string]any
}

func (w *writes) client() client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		SubResourceApply: func(_ context.Context, _ client.Client, _ string,
			object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			o := (&client.SubResourceApplyOptions{}).ApplyOpts(options)
			status := object.(applied)
			what := fmt.Sprintf("%s on %s", o.FieldManager, status.GetResourceVersion())
			if err := w.note(what); err != nil {
				return err
			}
			u := &unstructured.Unstructured{Object: status.UnstructuredContent()}
			w.status = append(w.status, u.DeepCopy())
			status.SetResourceVersion(strconv.Itoa(w.version))
			return nil
		},
		SubResourcePatch: w.patchStatus,
		Apply: func(_ context.Context, _ client.WithWatch, object runtime.ApplyConfiguration,
			_ ...client.ApplyOption) error {
			switch object := object.(type) {
			case *corev1ac.PodApplyConfiguration:
				what := fmt.Sprintf("label %s of %s", *object.Name, *object.UID)
				if object.Labels == nil {
					what = "unlabel " + *object.Name
				}
				err := w.note(what)
				if err != nil {
					return err
				}
				object.WithResourceVersion(strconv.Itoa(w.version))
				return nil
			case *corev1ac.ServiceApplyConfiguration:
				version := "any version"
				if object.ResourceVersion != nil {
					version = *object.ResourceVersion
				}
				return w.note(fmt.Sprintf("service %s on %s", *object.Name, version))
			default:
				return fmt.Errorf("%T is applied", object)
			}
		},
		Delete: func(_ context.Context, _ client.WithWatch, object client.Object,
			options ...client.DeleteOption) error {
			o := (&client.DeleteOptions{}).ApplyOptions(options)
			if o.Preconditions == nil || o.Preconditions.UID == nil {
				return w.note("delete any " + object.GetName())
			}
			return w.note(fmt.Sprintf("delete %s of %s", object.GetName(), *o.Preconditions.UID))
		},
	})
}

// writing is a manager whose writes are noted; the group is at resource version 7.
func writing(t *testing.T, s *scene) (*Reconciler, *writes) {
	t.Helper()
	s.group.ResourceVersion, s.group.UID = "7", "group"
	for _, pod := range s.pods {
		pod.ResourceVersion = "3"
	}
	w := &writes{version: 7}
	r := reading(t, s)
	r.Client, r.Rosters, r.Recorder = w.client(), w, events.NewFakeRecorder(100)
	return r, w
}

// applies has a pass decided and applied, and carries over what it leaves.
func (s *scene) applies(t *testing.T, r *Reconciler) (again time.Duration) {
	t.Helper()
	next, again, err := r.apply(t.Context(), s.observation, decide(s.observation))
	if err != nil {
		t.Fatal(err)
	}
	s.state = next
	s.observation.published = next.newest(s.group)
	return again
}

func conflict(string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "electiongroups"}, "g", nil)
}

// MC1: the roster is persisted on top of what was observed, of this very group, before any agent is
// told; the status follows on top of that, though the cache still shows the group as it was.
func TestARosterIsPersistedBeforeItIsTold(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.statusAt = s.now
	r, w := writing(t, s)
	s.applies(t, r)
	generation := s.observation.published.Roster.Generation
	if persisted := s.membership.Roster(); persisted == nil || persisted.Generation != generation {
		t.Errorf("generation %d is persisted, and the rules of voters know of %+v",
			generation, persisted)
	}
	s.later(time.Minute)
	s.applies(t, r)
	s.applies(t, r) // which writes nothing: nothing has changed
	want := []string{
		"podesta-roster on 7",
		fmt.Sprint("publish ", generation),
		fmt.Sprint("publish ", generation),
		"podesta-status on 8",
		"label p-2 of uid-2",
		fmt.Sprint("publish ", generation),
	}
	if !slices.Equal(w.all, want) {
		t.Errorf("the writes were\n%q, want\n%q", w.all, want)
	}
	for _, status := range w.status {
		if status.GetUID() != "group" {
			t.Errorf("applied to the group of UID %q", status.GetUID())
		}
	}
	if _, found, _ := unstructured.NestedMap(w.status[1].Object, "status", "roster"); found {
		t.Error("the status is applied with the roster in it, which has another owner")
	}
}

// MC1: a manager that was overtaken persists nothing and tells nobody anything: it looks again.
func TestAnOvertakenManagerTellsNothing(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.statusAt = s.now
	r, w := writing(t, s)
	w.refuse = conflict
	again := s.applies(t, r)
	if len(w.all) != 1 || again != s.debounce || s.membership.Roster() != nil ||
		s.observation.published.Roster != nil {
		t.Errorf("again in %v; after %q it goes on with %+v", again, w.all, s.observation.published)
	}
}

// A group may be deleted while a pass goes on, as when its namespace ends. That is no error: the
// watch brings the news.
func TestAGroupThatIsDeletedMeanwhile(t *testing.T) {
	for _, refused := range []string{"podesta-roster", "podesta-status"} {
		s := newScene(3).sees("p-2", 0, 1, 2)
		r, w := writing(t, s)
		w.refuse = func(what string) error {
			if strings.HasPrefix(what, refused) {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "electiongroups"}, "g")
			}
			w.version++
			return nil
		}
		if again := s.applies(t, r); again != s.debounce {
			t.Errorf("without the group for %s: again in %v, want %v", refused, again, s.debounce)
		}
		if slices.ContainsFunc(w.all, func(what string) bool { return strings.HasPrefix(what, "label") }) {
			t.Errorf("without the group for %s, a pod gets the label: %q", refused, w.all)
		}
	}
}

// What a manager wrote itself is newer than what its cache shows, until the cache has it, too.
func TestACacheThatLagsBehind(t *testing.T) {
	s := newScene(0)
	s.group.ResourceVersion = "9"
	s.group.Status.ObservedGeneration = 1
	s.wrote(v1.ElectionGroupStatus{ObservedGeneration: 2}, "10")
	if got := s.newest(s.group).ObservedGeneration; got != 2 || s.observedVersion(s.group) != "10" {
		t.Errorf("it takes the status of generation %d, at %s", got, s.observedVersion(s.group))
	}
	for _, version := range []string{"10", "11"} {
		s.group.ResourceVersion = version
		got := s.newest(s.group).ObservedGeneration
		if got != 1 || s.observedVersion(s.group) != version {
			t.Errorf("the cache is at %s, and it takes the status of generation %d, at %s",
				version, got, s.observedVersion(s.group))
		}
	}
}

// The label leaves every other pod before the coordinator's gets it, also a pod of the
// coordinator's name that is not the group's any more.
func TestTheRoleLabelMoves(t *testing.T) {
	s := newScene(2)
	r, w := writing(t, s)
	s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
	s.labels.pods = map[types.UID]string{"old": "p-1"}
	d := decideRole(s.observation, "p-1")
	next := state{labels: d.labels}
	if _, err := r.applyRole(t.Context(), d, s.now, &next); err != nil {
		t.Fatal(err)
	}
	if want := []string{
		"unlabel p-1",
		"unlabel p-0",
		"label p-1 of uid-1",
	}; !slices.Equal(
		w.all,
		want,
	) {
		t.Errorf("the writes were %q, want %q", w.all, want)
	}
	s.labels = next.labels // and the cache shows nothing of it yet
	if now := observedLabels(s.observation).pods; len(now) != 1 || now["uid-1"] != "p-1" {
		t.Errorf("the label is on %v", now)
	}
}

// When the label moves, no pod has it for a moment; else the Service's endpoints may be late by a
// second. Where no pod lost it nobody waits, nor does a manager that ends.
func TestNoPodHasTheLabelForAMoment(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newScene(2)
		r, w := writing(t, s)
		took := func(ctx context.Context) (time.Duration, error) {
			d, begun := decideRole(s.observation, "p-1"), time.Now()
			_, err := r.applyRole(ctx, d, s.now, &state{labels: d.labels})
			return time.Since(begun), err
		}
		if d, err := took(t.Context()); d != 0 || err != nil {
			t.Errorf("nobody had it: it took %v (%v)", d, err)
		}
		s.pods[0].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
		if d, err := took(t.Context()); d != withoutLabel || err != nil {
			t.Errorf("another pod had it: it took %v (%v), want %v", d, err, withoutLabel)
		}
		w.refuse = func(what string) error {
			if what == "unlabel p-0" {
				return apierrors.NewNotFound(schema.GroupResource{}, "p-0")
			}
			return nil
		}
		if d, err := took(t.Context()); d != 0 || err != nil {
			t.Errorf("the pod that had it is gone: it took %v (%v)", d, err)
		}
		w.refuse = nil
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		w.all = nil
		if d, err := took(ended); d != 0 || !errors.Is(err, context.Canceled) || len(w.all) != 1 {
			t.Errorf("the manager ends: it took %v (%v), and wrote %q", d, err, w.all)
		}
	})
}

// A Service is made only if there is none, and deleted only if it is the one that was observed.
func TestOnlyTheGroupsServiceIsTouched(t *testing.T) {
	s := newScene(0)
	r, w := writing(t, s)
	s.group.Spec.Service = &v1.CoordinatorService{
		Ports: []v1.CoordinatorPort{{Port: 80, Protocol: v1.TCP}},
	}
	do := func() {
		t.Helper()
		_, err := r.applyService(t.Context(), s.observation, decideService(s.observation), &s.state)
		if err != nil {
			t.Fatal(err)
		}
	}
	do()
	s.service.foreign = "theirs"
	do()
	s.service = seenService{ours: &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "g-coordinator", UID: "service"},
	}}
	s.group.Spec.Service = nil
	do()
	want := []string{"service g-coordinator on " + absentVersion, "delete g-coordinator of service"}
	if !slices.Equal(w.all, want) {
		t.Errorf("the writes were %q, want %q", w.all, want)
	}
}

// MC5: what an agent said last is known as long as its pod is, or is on a roster.
func TestWhatIsKnownOfAgents(t *testing.T) {
	s := newScene(1).sees("", 0)
	s.observation.published.Roster = &v1.RosterStatus{
		Members: []v1.RosterMember{{Name: "p-1", UID: "voter"}},
	}
	clear(s.sightings)
	s.see([]roster.Sighting{
		{UID: "uid-0"}, {UID: "voter"}, {UID: "stranger"}, {UID: "connected", Connected: true},
	}, s.knownPods(nil))
	for uid, want := range map[types.UID]bool{"uid-0": true, "voter": true, "connected": true, "stranger": false} {
		if _, known := s.sightings[uid]; known != want {
			t.Errorf("what the agent of %s said is known: %t", uid, known)
		}
	}
}

// How long agents take to come back is the publisher's to say: it has told them, and sees them.
func TestGraceIsAsLongAsAgentsTakeToComeBack(t *testing.T) {
	o, err := reading(t, newScene(3)).observe(t.Context(), keyIn("g"))
	if want := new(writes).Grace(); err != nil || o.grace != want || o.returning != noon {
		t.Errorf("%v, %v, returning since %v; want %v", o.grace, err, o.returning, want)
	}
}

// MC2: a group that is older than this manager's lead may have had a roster; one that is made later
// has not. A group that was made again under its name has, under this manager, no past.
// G10: the highest epoch that was published is known though somebody has wiped the status since.
func TestTheHighestEpochOutlivesTheStatus(t *testing.T) {
	s := voting(3).holding("p-2", 7, 0, 1, 2)
	r, _ := writing(t, s)
	s.applies(t, r)
	for i := range s.pods {
		s.edit(i, func(r *roster.Report) { r.Coordinator, r.Epoch = "", 0 })
	}
	s.observation.published = v1.ElectionGroupStatus{Roster: s.observation.published.Roster}
	s.writtenVersion = ""
	s.later(time.Hour)
	s.applies(t, r)
	if epochOf(s.observation.published) != 0 || s.floor() != 7 {
		t.Errorf("epoch %d is shown, and none below %d is", epochOf(s.observation.published), s.floor())
	}
}

// What a pass makes of the status and the labels that it reads does not change what was written.
func TestAPassChangesACopy(t *testing.T) {
	var s state
	group := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "4"}}
	status := v1.ElectionGroupStatus{Processes: []v1.ProcessStatus{{Name: "p-0"}}}
	s.wrote(status, "5")
	status.Processes[0].Name = "p-1"
	s.newest(group).Processes[0].Name = "p-2"
	if got := s.newest(group).Processes[0].Name; got != "p-0" {
		t.Errorf("of p-0, %s is left", got)
	}
	labels := roleLabels{pods: map[types.UID]string{"uid-0": "p-0"}}
	next := s.next(decision{role: roleDecision{labels: labels}})
	if delete(next.labels.pods, "uid-0"); labels.pods["uid-0"] != "p-0" {
		t.Error("of what the pass began with, nothing is left")
	}
}

func TestWhichGroupsAreInherited(t *testing.T) {
	s := newScene(1)
	r := reading(t, s)
	for _, c := range []struct {
		name      string
		made      time.Duration // after this manager began to lead, by the API server's clock
		ahead     time.Duration // of that clock before this machine's
		unknown   bool          // what that clock says
		inherited bool
	}{
		{name: "made before", made: -time.Hour, inherited: true},
		{name: "made then", inherited: true},
		{name: "made afterwards", made: time.Hour},
		{name: "made before, and this clock is late", made: -time.Minute, ahead: 10 * time.Minute,
			inherited: true},
		{name: "made afterwards, and this clock is early", made: time.Minute, ahead: -10 * time.Minute},
		{name: "nobody knows", made: time.Hour, unknown: true, inherited: true},
	} {
		r.leadsSince = s.now.Add(-2 * time.Hour)
		r.Date = func() time.Time {
			if c.unknown {
				return time.Time{}
			}
			return s.now.Add(c.ahead)
		}
		s.group.CreationTimestamp = metav1.NewTime(r.leadsSince.Add(c.ahead + c.made))
		if o, err := r.observe(t.Context(), keyIn("g")); err != nil || o.inherited != c.inherited {
			t.Errorf("%s: inherited %t, %v", c.name, o.inherited, err)
		}
	}
	s.group.UID = "old"
	r.states.put(keyIn("g"), state{uid: "old", epoch: 9, after: 7})
	if o, err := r.observe(t.Context(), keyIn("g")); err != nil || o.epoch != 9 || o.replaces {
		t.Errorf("the same group: epoch %d, replaces %t, %v", o.epoch, o.replaces, err)
	}
	s.group.UID = "new"
	o, err := r.observe(t.Context(), keyIn("g"))
	if err != nil || o.epoch != 0 || !o.replaces || !o.begun.Equal(s.now) || o.after != 7 {
		t.Errorf("another group: epoch %d, replaces %t, since %v, generations after %d, %v",
			o.epoch, o.replaces, o.begun, o.after, err)
	}
}
