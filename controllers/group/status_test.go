package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// noon is when the stories of these tests play: 10 days after generations began to be counted.
var noon = membership.GenerationsBegin.Add(10 * 24 * time.Hour)

// scene is an observation in the making: a group whose pods are p-0, p-1, …, with priorities by
// ordinal.
type scene struct{ observation }

func newScene(pods int) *scene {
	s := &scene{observation{
		state:     state{begun: noon.Add(-time.Hour), showing: true},
		now:       noon,
		agrees:    true,
		debounce:  DefaultDebounce,
		grace:     time.Second,
		sightings: map[types.UID]roster.Sighting{},
		ended:     map[types.UID]time.Time{},
		group: &v1.ElectionGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "g", Generation: 1},
			Spec: v1.ElectionGroupSpec{
				Algorithm: v1.Bully,
				Safety:    v1.Classic,
				Priority:  v1.PriorityPolicy{From: v1.Ordinal},
				Timing:    v1.Timing{HeartbeatMilliseconds: 100, TimeoutMilliseconds: 500},
			},
		},
	}}
	for i := range pods {
		s.pods = append(s.pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p-%d", i),
				UID: types.UID(fmt.Sprintf("uid-%d", i))},
			Spec:   corev1.PodSpec{InitContainers: []corev1.Container{{Name: v1.AgentContainer}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.0.%d", i)}})
	}
	return s
}

// sees has the agents of these pods connected and following the coordinator; "" is electing.
func (s *scene) sees(coordinator string, pods ...int) *scene {
	for _, i := range pods {
		pod := s.pods[i]
		s.sightings[pod.UID] = roster.Sighting{
			Name:      pod.Name,
			UID:       string(pod.UID),
			Connected: true,
			Since:     noon.Add(-time.Minute),
			Report: roster.Report{
				StateID:     "m",
				Coordinator: coordinator,
				Electing:    coordinator == "",
			},
		}
	}
	return s
}

// adds has the group get a pod.
func (s *scene) adds(pod *corev1.Pod) *scene {
	s.pods = append(s.pods, pod)
	return s
}

// loses has the subscription of a pod's agent ended so long ago.
func (s *scene) loses(pod int, ago time.Duration) *scene {
	seen := s.sightings[s.pods[pod].UID]
	seen.Connected, seen.Since = false, s.now.Add(-ago)
	s.sightings[s.pods[pod].UID] = seen
	return s
}

// awaits has agents come back to the manager in great numbers, since so long ago.
func (s *scene) awaits(since time.Duration) *scene {
	s.returning = s.now.Add(-since)
	return s
}

// accuses has an agent report another one as crashed.
func (s *scene) accuses(pod int, crashed string) *scene {
	return s.reports(pod, crashed, roster.Crashed)
}

// reports has an agent report a state of another one.
func (s *scene) reports(pod int, of, state string) *scene {
	s.edit(pod, func(r *roster.Report) { r.Table = append(r.Table, roster.Row{Name: of, State: state}) })
	return s
}

func (s *scene) edit(pod int, edit func(*roster.Report)) {
	seen := s.sightings[s.pods[pod].UID]
	edit(&seen.Report)
	s.sightings[s.pods[pod].UID] = seen
}

// published makes what is decided now the published status, roster included.
func (s *scene) published() *scene {
	d := decideRoster(s.observation)
	if d.record != nil {
		s.observation.published.Roster = d.record
	}
	for uid, seen := range s.sightings {
		seen.Report.Generation = s.observation.published.Roster.Generation
		s.sightings[uid] = seen
	}
	v := decideStatus(s.observation, d)
	s.observation.published = v.status
	return s
}

func tableOf(v statusDecision) string {
	var rows []string
	for _, r := range v.status.Processes {
		follows, _ := v.status.Followed(&r)
		rows = append(rows, fmt.Sprintf("%s:%s:%s", r.Name, r.State, follows))
	}
	return strings.Join(rows, " ")
}

func conditionsIn(v statusDecision) string {
	var all []string
	for _, c := range v.status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(all, " ")
}

func TestProcessStatusTable(t *testing.T) {
	well := func() *scene { return newScene(3).sees("p-2", 0, 1, 2).published() }
	for _, test := range []struct {
		name    string
		scene   *scene
		table   string
		recheck time.Duration
	}{
		{"all well", well(), "p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"nobody has joined", newScene(2), "p-0:Unknown: p-1:Unknown:", 0},
		{"electing", newScene(2).sees("", 0, 1), "p-0:Normal: p-1:Normal:", 0},
		{"killed, peers know it and elected: the first write is right", well().sees("p-1", 0, 1).loses(2,
			90*time.Millisecond).accuses(0, "p-2"),
			"p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:Crashed:", 0},
		{"its peers cannot reach it, and nothing shows that it has ended", well().sees("p-1", 0, 1).loses(2,
			90*time.Millisecond).reports(0, "p-2", roster.NotAnswering),
			"p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:NotAnswering:", 0},
		{"one peer cannot reach it, and the link of another was closed", well().sees("p-1", 0, 1).loses(2,
			90*time.Millisecond).reports(0, "p-2", roster.NotAnswering).accuses(1, "p-2"),
			"p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:Crashed:", 0},
		{"its peers cannot reach it, and its pod has failed", func() *scene {
			s := well().sees("p-1", 0, 1).loses(2, 0).reports(0, "p-2", roster.NotAnswering)
			s.pods[2].Status.Phase = corev1.PodFailed
			return s
		}(), "p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:Crashed:", 0},
		{"killed, nobody tells yet: as it was, for a while", well().loses(0, 300*time.Millisecond),
			"p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2", 700 * time.Millisecond},
		{"out of sight", well().loses(0, 2*time.Second), "p-0:Unknown: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"the coordinator is out of sight, its peers follow it", well().loses(2, 2*time.Second),
			"p-0:Normal:p-2 p-1:Normal:p-2 p-2:Unknown:", 0},
		{"an open subscription beats hearsay", well().accuses(0, "p-1"),
			"p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"one that never joined is not crashed because its link is refused", newScene(2).sees("p-1", 1).accuses(1, "p-0"),
			"p-0:Unknown: p-1:Coordinator:p-1", 0},
		{"what a process says of itself is no evidence", well().loses(0, 2*time.Second).accuses(0, "p-0"),
			"p-0:Unknown: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"it said that it is leaving, and left", func() *scene {
			s := well()
			s.edit(0, func(r *roster.Report) { r.Leaving = true })
			return s.loses(0, 0)
		}(), "p-0:Crashed: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"its pod has failed", func() *scene { s := well(); s.pods[0].Status.Phase = corev1.PodFailed; return s }(),
			"p-0:Crashed: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"the kubelet says that its agent ended", func() *scene {
			s := well().loses(0, 0)
			s.pods[0].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1.AgentContainer,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			return s
		}(), "p-0:Crashed: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"its agent crashes again and again", func() *scene {
			s := well().loses(0, 0)
			s.pods[0].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1.AgentContainer,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
			return s
		}(), "p-0:Crashed: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"another container's end is not the agent's", func() *scene {
			s := well()
			s.pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			return s.loses(0, 2*time.Second)
		}(), "p-0:Unknown: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"the spec names a pod that does not exist", func() *scene {
			s := well()
			s.group.Spec.Processes = []v1.Process{{Name: "p-9", Priority: new(int32(5))}}
			return s
		}(), "p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2 p-9:Unknown:", 0},
		{"a new manager has not heard of one: as it was, for a while", func() *scene {
			s := well()
			delete(s.sightings, "uid-0")
			s.begun = noon.Add(-3 * time.Second)
			return s
		}(), "p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2", 7 * time.Second},
		{"a new manager has not heard of one, its peers say why", func() *scene {
			s := well()
			delete(s.sightings, "uid-0")
			s.begun = noon
			return s.accuses(1, "p-0")
		}(), "p-0:Crashed: p-1:Normal:p-2 p-2:Coordinator:p-2", 0},
		{"an old report of a deposed coordinator", well().sees("p-1", 0, 1).loses(2, 300*time.Millisecond),
			"p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:Normal:p-2", 700 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := decideStatus(test.scene.observation, rosterDecision{})
			if got := tableOf(v); got != test.table || v.recheck != test.recheck {
				t.Errorf("got  %s, again in %v\nwant %s, again in %v", got, v.recheck, test.table,
					test.recheck)
			}
		})
	}
}

func TestCoordinator(t *testing.T) {
	well := func() *scene { return newScene(3).sees("p-2", 0, 1, 2).published() }
	for _, test := range []struct {
		name    string
		scene   *scene
		want    string
		elected bool
	}{
		{"none has joined", newScene(3), "", false},
		{"all agree", newScene(3).sees("p-2", 0, 1, 2), "p-2", true},
		{"all elect", newScene(3).sees("", 0, 1, 2), "", false},
		{"followed by one other", newScene(5).sees("p-4", 4).sees("", 0, 1, 2).sees("p-4", 3), "p-4", false},
		{"named, but it does not say so itself", newScene(3).sees("p-2", 0, 1).sees("", 2), "", false},
		{"two claim it, one is followed by more", newScene(5).sees("p-4", 4).sees("p-3", 0, 1, 2, 3), "p-3", true},
		{"two claim it, followed by as many", newScene(4).sees("p-3", 3, 0).sees("p-2", 2, 1), "p-3", false},
		{"of two the higher one's machine is gone: it is connected for a while yet",
			newScene(2).sees("p-1", 1).sees("p-0", 0).accuses(0, "p-1"), "p-0", false},
		{"two have lost each other", newScene(2).sees("p-1", 1).sees("p-0", 0).
			accuses(0, "p-1").accuses(1, "p-0"), "p-1", false},
		{"equal priorities too: the name decides", func() *scene {
			s := newScene(4)
			s.group.Spec.Priority = v1.PriorityPolicy{Default: new(int32(7))}
			return s.sees("p-3", 3, 0).sees("p-2", 2, 1)
		}(), "p-3", false},
		{"it is dead, and they do not know yet",
			func() *scene { s := well(); s.pods[2].Status.Phase = corev1.PodFailed; return s }(), "", false},
		{"it is out of the manager's sight, its peers follow it", well().loses(2, time.Hour), "p-2", true},
		{"it is out of sight, and half of them elect", well().loses(2, 0).sees("", 0), "", false},
		{"elected while it was out of sight", well().loses(1, time.Hour).sees("p-1", 0, 2), "p-1", true},
		{"its name is another pod's, which has not joined", func() *scene {
			s := well()
			s.pods[2].UID = "new"
			return s
		}(), "", false},
		{"nobody reports: it stays", well().loses(0, time.Hour).loses(1, time.Hour).loses(2, time.Hour), "p-2", false},
		{"nobody reports, and its pod is gone", func() *scene {
			s := well().loses(0, time.Hour).loses(1, time.Hour)
			s.pods = s.pods[:2]
			return s
		}(), "", false},
		{"nobody reports, and its pod has ended", func() *scene {
			s := well().loses(0, time.Hour).loses(1, time.Hour).loses(2, time.Hour)
			s.pods[2].Status.Phase = corev1.PodFailed
			return s
		}(), "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := coordinatorOf(processesOf(test.scene.observation),
				test.scene.observation.published.Coordinator)
			if c.name != test.want || c.elected() != test.elected {
				t.Errorf("got %q, elected %v; want %q, %v (%+v)", c.name, c.elected(), test.want,
					test.elected, c)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	well := func() *scene { return newScene(3).sees("p-2", 0, 1, 2).published() }
	for _, test := range []struct {
		name  string
		scene *scene
		want  string
	}{
		{"all well", well(), "Ready=True/Elected CoordinatorElected=True/Elected Degraded=False/AllWell Reconciling=False/Settled Stalled=False/Progressing"},
		{"no pods", newScene(0), "Ready=False/NoProcesses CoordinatorElected=False/NoProcesses Degraded=False/NoProcesses Reconciling=False/Settled Stalled=False/Progressing"},
		{"no agents", newScene(2), "Ready=Unknown/NoReports CoordinatorElected=Unknown/NoReports Degraded=True/ProcessesUnknown Reconciling=True/NoReports Stalled=False/Progressing"},
		{"electing", newScene(3).sees("", 0, 1, 2),
			"Ready=False/Electing CoordinatorElected=False/Electing Degraded=False/AllWell Reconciling=True/Electing Stalled=False/Progressing"},
		{"views differ", newScene(4).sees("p-3", 3, 0).sees("p-2", 2, 1),
			"Ready=False/ViewsDiffer CoordinatorElected=False/ViewsDiffer Degraded=True/ViewsDiffer Reconciling=True/ViewsDiffer Stalled=False/Progressing"},
		{"views differ, most agree", newScene(4).sees("p-3", 3, 0, 1).sees("p-2", 2),
			"Ready=True/Elected CoordinatorElected=True/Elected Degraded=True/ViewsDiffer Reconciling=False/Settled Stalled=False/Progressing"},
		{"views differ: one side does not reach the other", newScene(3).sees("p-1", 0, 1).sees("p-2", 2).
			reports(0, "p-2", roster.NotAnswering).reports(1, "p-2", roster.NotAnswering),
			"Ready=True/Elected CoordinatorElected=True/Elected Degraded=True/ViewsDiffer Reconciling=False/Settled Stalled=False/Progressing"},
		{"one crashed", well().loses(0, time.Hour).accuses(1, "p-0"),
			"Ready=True/Elected CoordinatorElected=True/Elected Degraded=True/ProcessesCrashed Reconciling=False/Settled Stalled=False/Progressing"},
		{"priority 0 everywhere", func() *scene {
			s := newScene(2).sees("", 0, 1)
			s.group.Spec.Priority = v1.PriorityPolicy{Default: new(int32(0))}
			return s
		}(), "Ready=False/NoCandidate CoordinatorElected=False/NoCandidate Degraded=False/AllWell Reconciling=False/NoCandidate Stalled=True/NoCandidate"},
		{"too many", newScene(101), "Ready=False/TooManyProcesses CoordinatorElected=Unknown/NoReports Degraded=True/ProcessesUnknown Reconciling=False/TooManyProcesses Stalled=True/TooManyProcesses"},
		{"one has not taken the roster", func() *scene {
			s := well()
			s.edit(0, func(r *roster.Report) { r.Generation-- })
			return s
		}(), "Ready=True/Elected CoordinatorElected=True/Elected Degraded=False/AllWell Reconciling=True/RosterSpreading Stalled=False/Progressing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := decideStatus(test.scene.observation, decideRoster(test.scene.observation))
			if got := conditionsIn(v); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for _, c := range v.status.Conditions {
				if c.Message == "" || c.LastTransitionTime.IsZero() {
					t.Errorf("condition %s lacks a sentence or a time: %+v", c.Type, c)
				}
			}
		})
	}
}

func TestSinceAndTransitionTimesStayWhileNothingChanges(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published()
	first := s.observation.published
	s.now = noon.Add(time.Hour)
	again := decideStatus(s.observation, rosterDecision{}).status
	if !again.Coordinator.Since.Equal(&first.Coordinator.Since) ||
		again.Conditions[0].LastTransitionTime != first.Conditions[0].LastTransitionTime {
		t.Errorf("an hour later, without a change: since %v, was %v", again.Coordinator.Since,
			first.Coordinator.Since)
	}
	later := s.sees("p-1", 0, 1, 2)
	if v := decideStatus(later.observation, rosterDecision{}).status; v.Coordinator.Since.Time != s.now {
		t.Errorf("another coordinator since %v, want %v", v.Coordinator.Since, s.now)
	}
}

func TestTheStatusIsHeld(t *testing.T) {
	fresh := func() *scene {
		s := newScene(5).sees("p-4", 0, 1, 2, 3, 4).published()
		s.showing, s.begun, s.sightings = false, noon.Add(
			-4*time.Second), map[types.UID]roster.Sighting{}
		return s
	}
	lost := func(ago time.Duration) *scene {
		s := newScene(5).sees("p-4", 0, 1, 2, 3, 4).published()
		s.grace = 10 * time.Second
		for i := range s.pods {
			s.loses(i, ago)
		}
		return s
	}
	for _, test := range []struct {
		name  string
		scene *scene
		want  time.Duration
	}{
		{"nobody is back", fresh(), 6 * time.Second},
		{"a minority is back", fresh().sees("p-4", 0, 1), 6 * time.Second},
		{"a majority is back", fresh().sees("p-4", 0, 1, 2), 0},
		{"one of the majority is gone again", fresh().sees("p-4", 0, 1, 2).loses(2, 0), 6 * time.Second},
		{"nobody is back, in a cluster whose agents come back within 30 s", func() *scene {
			s := fresh()
			s.grace = 30 * time.Second
			return s
		}(), 26 * time.Second},
		{"long enough", func() *scene { s := fresh(); s.begun = noon.Add(-leastReportsWithin); return s }(), 0},
		{"long enough, but others still come in great numbers", func() *scene {
			s := fresh().awaits(20 * time.Second)
			s.begun, s.grace = noon.Add(-35*time.Second), 30*time.Second
			return s
		}(), 30 * time.Second},
		{"long enough, and others come much later", func() *scene {
			s := fresh().awaits(20 * time.Second)
			s.begun, s.grace = noon.Add(-time.Hour), 30*time.Second
			return s
		}(), 0},
		{"others come in great numbers, and there is time left", fresh().awaits(time.Second), 6 * time.Second},
		{"this manager has published before", func() *scene { s := fresh(); s.showing = true; return s }(), 0},
		{"all have just lost this manager", lost(4 * time.Second), 6 * time.Second},
		{"and a pod has no agent yet", lost(4 * time.Second).adds(newScene(6).pods[5]),
			6 * time.Second},
		{"and one was lost long before", lost(4*time.Second).loses(0, time.Hour), 6 * time.Second},
		{"and one has ended long before", func() *scene {
			s := lost(4*time.Second).loses(0, time.Hour)
			s.pods[0].Status.Phase = corev1.PodFailed
			return s
		}(), 6 * time.Second},
		{"all have lost it for long", lost(10 * time.Second), 0},
		{"and come back in great numbers", lost(10 * time.Second).awaits(5 * time.Second), 10 * time.Second},
		{"others come back, in great numbers", lost(4 * time.Second).awaits(2 * time.Second), 10 * time.Second},
		{"and one has ended long before", func() *scene {
			s := lost(4*time.Second).loses(0, time.Hour).awaits(2 * time.Second)
			s.pods[0].Status.Phase = corev1.PodFailed
			return s
		}(), 10 * time.Second},
		{"they come back when this group had long been away", lost(time.Hour).awaits(2 * time.Second), 0},
		{"one is back", lost(4*time.Second).sees("p-4", 3), 0},
		{"one has said that it leaves", func() *scene {
			s := lost(4 * time.Second)
			s.edit(4, func(r *roster.Report) { r.Leaving = true })
			return s
		}(), 0},
		{"a pod has ended", func() *scene {
			s := lost(4 * time.Second)
			s.pods[4].Status.Phase = corev1.PodFailed
			return s
		}(), 0},
		{"the coordinator's pod is gone", func() *scene {
			s := lost(4 * time.Second)
			s.pods = s.pods[:4]
			return s
		}(), 0},
		{"a new group", newScene(5), 0},
		{"no voters", func() *scene {
			s := newScene(5).published()
			s.showing, s.begun = false, noon
			return s
		}(), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := holdStatus(test.scene.observation); got != test.want {
				t.Errorf("held for %v, want %v", got, test.want)
			}
		})
	}
}

// A pass that leaves the status as it is leaves the role label where it is, too; but not on a pod
// that is being deleted or has ended.
func TestTheLabelOfAHeldStatus(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.Pod)
		want []string
	}{
		"well":          {func(*corev1.Pod) {}, nil},
		"being deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) }, []string{"p-2"}},
		"ended":         {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, []string{"p-2"}},
	} {
		s := newScene(3).sees("p-2", 0, 1, 2).published()
		s.showing, s.begun, s.sightings = false, noon.Add(-time.Second), map[types.UID]roster.Sighting{}
		s.pods[2].Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator}
		test.edit(s.pods[2])
		d := decide(s.observation)
		var got []string
		for _, pod := range d.role.remove {
			got = append(got, pod.Name)
		}
		if d.status != nil || d.role.set != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: status %v, label %v, off %q, want off %q", name, d.status, d.role.set, got, test.want)
		}
	}
}

func TestReady(t *testing.T) {
	well := func() *scene { return newScene(3).sees("p-2", 0, 1, 2).published() }
	for _, test := range []struct {
		name  string
		scene *scene
		want  string
	}{
		{"all well", well(), "3/3"},
		{"electing", well().sees("", 0, 1, 2), "3/3"},
		{"one crashed", well().loses(0, time.Hour).accuses(1, "p-0"), "2/3"},
		{"one is out of sight", well().loses(0, time.Hour), "2/3"},
		{"nobody has joined yet", newScene(2), "0/0"},
		{"one is not on the roster yet", func() *scene {
			s := well()
			s.pods = append(s.pods, newScene(4).pods[3])
			return s.sees("p-2", 3)
		}(), "3/3"},
		{"the spec names one that does not exist", func() *scene {
			s := well()
			s.group.Spec.Processes = []v1.Process{{Name: "p-9", Priority: new(int32(5))}}
			return s
		}(), "3/3"},
		{"a voter's pod is gone", func() *scene {
			s := voting(3).holding("p-2", 7, 0, 1, 2)
			s.pods = s.pods[1:]
			return s
		}(), "2/3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := decideStatus(test.scene.observation, rosterDecision{}).status.Running; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
