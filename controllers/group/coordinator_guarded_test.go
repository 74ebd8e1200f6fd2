package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// holding has these agents connected and following the coordinator under the epoch; it holds, if it
// is among them.
func (s *scene) holding(coordinator string, epoch int64, pods ...int) *scene {
	s.sees(coordinator, pods...)
	for _, i := range pods {
		s.edit(i, func(r *roster.Report) {
			r.Epoch, r.LeaseState, r.Generation = epoch, roster.LeaseFollowing, s.observation.published.Roster.Generation
			if s.pods[i].Name == coordinator {
				r.LeaseState = roster.LeaseHolding
			}
		})
	}
	return s
}

// at has these agents connected, without a coordinator, and saying that.
func (s *scene) at(lease string, pods ...int) *scene {
	s.sees("", pods...)
	for _, i := range pods {
		s.edit(
			i,
			func(r *roster.Report) { r.LeaseState, r.Generation = lease, s.observation.published.Roster.Generation },
		)
	}
	return s
}

// shown makes the view that is decided now the published one.
func (s *scene) shown() *scene {
	s.observation.published = decideStatus(s.observation, rosterDecision{}).status
	s.epoch = max(s.epoch, epochOf(s.observation.published))
	return s
}

// The status says once whom the processes follow, and in a row only what differs. Followed in api/v1
// puts that together again.
func TestRowsSayWhatDiffers(t *testing.T) {
	const epoch = 9<<20 + 3
	s := voting(7).holding("p-2", epoch, 0, 1, 2, 3).holding("p-2", epoch-1, 4).holding("p-5", 7, 5)
	status := decideStatus(s.observation, rosterDecision{}).status
	if c := status.Coordinator; c == nil || c.Name != "p-2" || c.DisplayEpoch != "9.3" || c.Epoch != epoch {
		t.Fatalf("the coordinator is %+v", c)
	}
	for i, want := range []struct{ row, followed string }{
		{" 0 false", "p-2 9437187"},
		{" 0 false", "p-2 9437187"},
		{" 0 false", "p-2 9437187"},
		{" 0 false", "p-2 9437187"},
		{" 9437186 false", "p-2 9437186"},
		{"p-5 7 false", "p-5 7"},
		{" 0 true", " 0"},
	} {
		row := status.Processes[i]
		name, under := status.Followed(&row)
		got := fmt.Sprintf("%s %d %t", row.Follows, row.Epoch, ptr.Deref(row.Electing, false))
		if followed := fmt.Sprintf("%s %d", name, under); got != want.row || followed != want.followed {
			t.Errorf("%s: the row says %q, so %q is followed; want %q and %q", row.Name, got, followed,
				want.row, want.followed)
		}
	}
}

// A row that stands while its process is away keeps what it said by leaving it out, whoever
// coordinates meanwhile.
func TestARowThatStandsKeepsItsView(t *testing.T) {
	s := voting(5).holding("p-4", 7, 0, 1, 2, 3, 4).shown()
	s.loses(0, time.Millisecond).holding("p-3", 8, 1, 2, 3, 4)
	status := decideStatus(s.observation, rosterDecision{}).status
	if c := status.Coordinator; c == nil || c.Name != "p-3" {
		t.Fatalf("the coordinator is %+v", c)
	}
	if name, epoch := status.Followed(&status.Processes[0]); name != "p-4" || epoch != 7 {
		t.Errorf("p-0 follows %q under epoch %d; it said p-4 and 7 when it was last heard", name, epoch)
	}
}

func TestAuthorisedCoordinator(t *testing.T) {
	well := func() *scene { return voting(3).holding("p-2", 7, 0, 1, 2).shown() }
	for _, test := range []struct {
		name   string
		scene  *scene
		want   string // coordinator and epoch
		reason string // of condition CoordinatorElected
	}{
		{"all follow", well(), "p-2 7", "True/Elected"},
		{"a majority follows, the others elect", voting(5).holding("p-4", 7, 4, 0, 1).at(roster.LeaseElecting, 2, 3), "p-4 7", "True/Elected"},
		{"a majority of those that report is none of the voters", voting(5).holding("p-4", 7, 4, 0).loses(1, time.Hour).loses(2, time.Hour).loses(3, time.Hour),
			"", "False/NoMajority"},
		{"those that are no voters do not count", func() *scene {
			s := voting(3)
			for i := 3; i < 7; i++ {
				s.pods = append(s.pods, newGuarded(7).pods[i])
			}
			return s.holding("p-6", 7, 0, 3, 4, 5, 6).at(roster.LeaseElecting, 1, 2)
		}(), "", "False/Electing"},
		{"nor does a voter that has lost its memory", func() *scene {
			s := voting(3).holding("p-2", 7, 2, 1).at(roster.LeaseElecting, 0)
			s.edit(1, func(r *roster.Report) { r.StateID = "other" })
			return s
		}(), "", "False/Electing"},
		{"a word without an epoch is none", voting(3).holding("p-2", 0, 0, 1, 2), "", "False/Electing"},
		{"a majority follows, it does not say so itself", voting(3).holding("p-2", 7, 0, 1).at(roster.LeaseSteppingDown, 2), "",
			"False/LeaseRunning"},
		{"it has priority 0", func() *scene {
			s := voting(3).holding("p-2", 7, 0, 1, 2)
			s.group.Spec.Processes = []v1.Process{{Name: "p-2", Priority: new(int32(0))}}
			return s
		}(), "", "False/LeaseRunning"},
		{"the epoch changes in place: the highest that a majority has reached", voting(3).holding("p-2", 7, 0).holding("p-2", 9, 1, 2), "p-2 9", "True/Elected"},
		{"the epoch changes in place: the first has reached it", well().holding("p-2", 9, 2), "p-2 7", "True/Elected"},
		{"a lower epoch than was shown", well().holding("p-1", 6, 0, 1, 2), "", "False/StaleViews"},
		{"a lower epoch than was shown, some time ago", func() *scene {
			return well().at(roster.LeaseElecting, 0, 1, 2).shown().holding("p-2", 6, 0, 1, 2)
		}(), "", "False/StaleViews"},
		{"a lower epoch than an earlier manager has shown", func() *scene {
			s := well().at(roster.LeaseElecting, 0, 1, 2).shown()
			s.epoch, s.observation.published.Elections = 0, []v1.ElectionStatus{{Epoch: 7}}
			return s.holding("p-2", 6, 0, 1, 2)
		}(), "", "False/StaleViews"},
		{"a higher one", well().holding("p-1", 8, 0, 1, 2), "p-1 8", "True/Elected"},

		{"killed, its peers know it and wait", well().at(roster.LeaseWaiting, 0, 1).loses(2, 0).accuses(0, "p-2"), "", "False/LeaseRunning"},
		{"killed, its peers do not know it yet", well().loses(2, 0), "p-2 7", "True/Elected"},
		{"its pod is gone, its peers follow it still", func() *scene { s := well(); s.pods = s.pods[:2]; return s }(), "", "False/LeaseRunning"},
		{"its container has ended, its peers follow it still", func() *scene { s := well().loses(2, 0); s.pods[2].Status.Phase = corev1.PodFailed; return s }(),
			"", "False/LeaseRunning"},
		{"its agent has ended, and its pod has not; its peers follow it still", func() *scene {
			s := well().loses(2, 0)
			s.pods[2].Status.InitContainerStatuses = []corev1.ContainerStatus{{
				Name:  v1.AgentContainer,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
			}}
			return s
		}(), "", "False/LeaseRunning"},
		{"its pod is another one of that name, its peers follow the old one still", func() *scene {
			s := well()
			s.pods[2].UID = "new"
			return s
		}(), "", "False/LeaseRunning"},
		{"nor when the other one has been seen", func() *scene {
			s := well()
			s.pods[2].UID = "new"
			return s.sees("", 2).loses(2, time.Hour)
		}(), "", "False/LeaseRunning"},
		{"nor when it is on the roster and has not joined", func() *scene {
			s := voting(5).holding("p-4", 7, 0, 1, 2, 3, 4).shown()
			s.pods[4].UID = "new"
			s.ended["uid-4"] = s.now.Add(-time.Minute)
			s.pass()
			return s
		}(), "", "False/LeaseRunning"},
		{"out of sight, followed by a majority", well().loses(2, time.Hour), "p-2 7", "True/Elected"},
		{"no voter, and not seen yet by a manager that has just begun", func() *scene {
			s := well()
			delete(s.sightings, "uid-2")
			member(s, "p-2").Voter = new(false)
			s.begun = s.now.Add(-time.Second)
			return s
		}(), "p-2 7", "True/Elected"},
		{"no voter, and made again since the manager has begun", func() *scene {
			s := well()
			delete(s.sightings, "uid-2")
			member(s, "p-2").Voter = new(false)
			s.begun = s.now.Add(-2 * time.Second)
			s.pods[2].CreationTimestamp = metav1.NewTime(s.now.Add(-time.Second))
			return s
		}(), "", "False/LeaseRunning"},
		{"more pods with the label than the table has rows", func() *scene {
			s := well()
			others := newScene(600).pods
			for _, pod := range others {
				pod.Name, pod.UID = "a-"+pod.Name, pod.UID+"-other"
			}
			s.pods = append(others, s.pods...)
			return s
		}(), "p-2 7", "True/Elected"},
		{"no voter, and not seen by a manager that began long ago", func() *scene {
			s := well()
			delete(s.sightings, "uid-2")
			member(s, "p-2").Voter = new(false)
			s.begun = s.now.Add(-time.Hour)
			return s
		}(), "", "False/LeaseRunning"},
		{"two connections have just broken", well().loses(0, 0).loses(1, 0), "p-2 7", "True/Elected"},
		{"two connections broke long ago", well().loses(0, time.Hour).loses(1, time.Hour), "", "False/NoMajority"},
		{"two broke 9 s ago, in a cluster whose agents come back within 10 s", func() *scene {
			s := well().loses(0, 9*time.Second).loses(1, 9*time.Second)
			s.grace = 10 * time.Second
			return s
		}(), "p-2 7", "True/Elected"},
		{"two broke 2 s ago, and agents come back in great numbers",
			well().loses(0, 2*time.Second).loses(1, 2*time.Second).awaits(1500 * time.Millisecond),
			"p-2 7", "True/Elected"},
		{"two broke long before others came back in great numbers",
			well().loses(0, time.Hour).loses(1, time.Hour).awaits(time.Second),
			"", "False/NoMajority"},
		{"two connections have just broken, of another coordinator than is shown", voting(3).holding("p-2", 7, 0, 1, 2).loses(0, 0).loses(1, 0),
			"", "False/NoMajority"},
		{"two have just left", func() *scene {
			s := well()
			for _, i := range []int{0, 1} {
				s.edit(i, func(r *roster.Report) { r.Leaving = true })
			}
			return s.loses(0, 0).loses(1, 0)
		}(), "", "False/NoMajority"},
		{"nobody reports: it stays, as nothing says that it ended", well().loses(0, time.Hour).loses(1, time.Hour).loses(2, time.Hour), "p-2 7", "Unknown/NoReports"},

		{"no voters yet", func() *scene { s := newGuarded(3); s.pass(); return s.at(roster.LeaseElecting, 0) }(), "", "False/NoVoters"},
		{"they elect", voting(3).at(roster.LeaseElecting, 0, 1, 2), "", "False/Electing"},
		{"they reach no majority", voting(3).at(roster.LeaseNoMajority, 0, 1).at(roster.LeaseElecting, 2), "", "False/NoMajority"},
		{"a nominee waits", voting(3).at(roster.LeaseWaiting, 0).at(roster.LeaseElecting, 1, 2), "", "False/LeaseRunning"},
		{"views differ", voting(4).holding("p-3", 8, 3, 0).holding("p-2", 7, 2, 1), "", "False/ViewsDiffer"},
		{"no pods", newGuarded(0), "", "False/NoProcesses"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := decideStatus(test.scene.observation, rosterDecision{})
			got := ""
			if c := v.status.Coordinator; c != nil {
				got = fmt.Sprintf("%s %d", c.Name, c.Epoch)
			}
			reason := strings.TrimPrefix(strings.Fields(conditionsIn(v))[1], "CoordinatorElected=")
			if got != test.want || reason != test.reason {
				t.Errorf("got %q (%s), want %q (%s)", got, reason, test.want, test.reason)
			}
		})
	}
}

func TestBrokenConnectionsAreLookedAtAgain(t *testing.T) {
	s := voting(3).holding("p-2", 7, 0, 1, 2).shown()
	for _, i := range []int{0, 1} {
		seen := s.sightings[s.pods[i].UID]
		seen.Connected, seen.Since = false, s.now.Add(-300*time.Millisecond)
		s.sightings[s.pods[i].UID] = seen
	}
	if v := decideStatus(s.observation, rosterDecision{}); v.recheck != 700*time.Millisecond {
		t.Errorf("again in %v", v.recheck)
	}
}

func TestGuardedTableShowsEpochs(t *testing.T) {
	s := voting(4).holding("p-3", 8, 3, 0, 1).holding("p-2", 7, 2)
	v := decideStatus(s.observation, rosterDecision{})
	var rows []string
	for _, r := range v.status.Processes {
		follows, epoch := v.status.Followed(&r)
		rows = append(rows, fmt.Sprintf("%s:%s:%s:%d", r.Name, r.State, follows, epoch))
	}
	if got, want := strings.Join(rows, " "), "p-0:Normal:p-3:8 p-1:Normal:p-3:8 p-2:Normal:p-2:7 p-3:Coordinator:p-3:8"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v.status.ToleratedFailures == nil || *v.status.ToleratedFailures != 1 {
		t.Errorf("tolerates %v", v.status.ToleratedFailures)
	}
	for _, c := range v.status.Conditions {
		if c.Type == v1.ConditionDegraded &&
			(c.Reason != "ViewsDiffer" || !strings.HasSuffix(c.Message,
				"; the group can lose 1 of its 4 voters, as with 3; with 5 it could lose 2")) {
			t.Errorf("Degraded: %s: %s", c.Reason, c.Message)
		}
		if c.Type == v1.ConditionReady &&
			c.Message != "a majority of the voters follows p-3 under epoch 0.8" {
			t.Errorf("Ready: %s", c.Message)
		}
	}
}

// A voter whose pod is gone is in the table for as long as it may be needed for a majority.
func TestGoneVotersAreInTheTable(t *testing.T) {
	s := voting(3).at(roster.LeaseNoMajority, 0).loses(1, time.Hour).loses(2, time.Hour)
	s.pods = s.pods[:1]
	d := s.pass()
	v := decideStatus(s.observation, d)
	if got, want := tableOf(v), "p-0:Normal: p-1:Crashed: p-2:Crashed:"; got != want {
		t.Errorf("table %s, want %s", got, want)
	}
	want := "Ready=False/MajorityLost CoordinatorElected=False/NoMajority Degraded=True/ProcessesCrashed Reconciling=False/MajorityLost Stalled=True/MajorityLost"
	if got := conditionsIn(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, c := range v.status.Conditions {
		if c.Type == v1.ConditionStalled && !strings.Contains(c.Message, "p-1, p-2 are gone") &&
			!strings.Contains(c.Message, "kubectl election forget g -n shop") {
			t.Errorf("Stalled: %s", c.Message)
		}
	}
}

// Voters whose pods are there may be a majority among themselves, when it is the manager that is
// cut off: nobody is told that they are gone.
func TestVotersOutOfSightMayAct(t *testing.T) {
	stalled := func(s *scene) string {
		for _, c := range decideStatus(s.observation, s.pass()).status.Conditions {
			if c.Type == v1.ConditionStalled && c.Reason == "MajorityLost" {
				return c.Message
			}
		}
		return ""
	}
	const only = "Find out why they do not report. Run kubectl election forget g -n shop only for processes that have certainly ended"
	s := voting(3).at(roster.LeaseNoMajority, 0).loses(1, time.Hour).loses(2, time.Hour)
	if got, want := stalled(s), "p-1, p-2 do not report to the manager but may still be acting. Without them there is no "+
		"majority of the 3 voters. "+only; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.pods = s.pods[:2]
	if got, want := stalled(s), "p-1 does not report to the manager but may still be acting; p-2 is gone, but nothing confirms that "+
		"it has ended. Without them there is no majority of the 3 voters. "+only; got != want {
		t.Errorf("one is gone: got  %s\nwant %s", got, want)
	}
	s.pods = s.pods[:1]
	if got := stalled(s); !strings.HasPrefix(got,
		"p-1, p-2 are gone, but nothing confirms that they have ended. Without them") {
		t.Errorf("both are gone: %s", got)
	}
	s = voting(3).at(roster.LeaseNoMajority, 0).loses(1, time.Hour).loses(2, time.Hour)
	s.later(-time.Minute)
	s.depart(1).depart(2)
	s.later(time.Minute)
	if got := stalled(s); !strings.HasPrefix(got, "p-1, p-2 do not report to the manager but may") {
		t.Errorf("they hang in Terminating: %s", got)
	}
	s = voting(3).at(roster.LeaseNoMajority, 0)
	s.edit(1, func(r *roster.Report) { r.StateID = "new" })
	s.edit(2, func(r *roster.Report) { r.StateID = "new" })
	if got, want := stalled(s), "p-1, p-2 came back with other state directories, so an earlier agent of each may "+
		"still be acting on another machine. Without them there is no majority of the 3 voters. Make sure that "+
		"no machine still runs that their nodes had before, then run kubectl election forget g -n shop"; got != want {
		t.Errorf("their nodes were replaced: got  %s\nwant %s", got, want)
	}
	for i, m := range s.observation.published.Roster.Members {
		if recorded := m.Replaced != nil && *m.Replaced; recorded != (i > 0) {
			t.Errorf("of %s it is recorded: %v", m.Name, recorded)
		}
	}
}

func TestVotersToComeAreReconciling(t *testing.T) {
	s := voting(3).holding("p-2", 7, 0, 1, 2)
	v := decideStatus(s.observation, rosterDecision{pending: 2})
	want := "Ready=True/Elected CoordinatorElected=True/Elected Degraded=False/AllWell Reconciling=True/VotersChanging Stalled=False/Progressing"
	if got := conditionsIn(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSurvival(t *testing.T) {
	type voters struct{ all, reporting int }
	for n, want := range map[voters]string{
		{1, 1}: "the only voter acts alone, and the group cannot lose it",
		{2, 2}: "the group can lose none of its 2 voters; with 3 it could lose 1",
		{3, 3}: "the group can lose 1 of its 3 voters",
		{4, 4}: "the group can lose 1 of its 4 voters, as with 3; with 5 it could lose 2",
		{7, 7}: "the group can lose 3 of its 7 voters",
		{5, 4}: "4 of the 5 voters report, and the group can lose 1 of them",
		{5, 3}: "3 of the 5 voters report, and the group can lose none of them",
		{5, 2}: "2 of the 5 voters report, and a majority is 3",
		{1, 0}: "0 of the 1 voters report, and a majority is 1",
	} {
		if got := survival(n.all, n.reporting); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}

// What is published is what can be lost now, in the number and in the sentence. Every process that
// has failed is named, with what Kubernetes says of it.
func TestTwoOfFiveAreDown(t *testing.T) {
	s := voting(5).holding("p-4", 7, 0, 1, 4).shown()
	for i := range 2 {
		s.pods[2+i].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1.AgentContainer,
			RestartCount: int32(5 * (1 - i)),
			State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}}}
	}
	s.pods[3].Status.Phase, s.pods[3].Status.Reason = corev1.PodFailed, "Evicted"
	for _, i := range []int{2, 3} {
		delete(s.sightings, s.pods[i].UID)
	}
	v := decideStatus(s.observation, rosterDecision{})
	if got := v.status.ToleratedFailures; got == nil || *got != 0 {
		t.Errorf("it tolerates %v", got)
	}
	const want = "p-2 (podesta-agent: CrashLoopBackOff after OOMKilled, 5 restarts), p-3 (Evicted) " +
		"have crashed; 3 of the 5 voters report, and the group can lose none of them"
	if got := meta.FindStatusCondition(v.status.Conditions, v1.ConditionDegraded).Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A roster that the status has lost is written anew, and the status speaks of it meanwhile.
func TestStatusThatWasWipedIsRestored(t *testing.T) {
	for name, found := range map[string]*v1.RosterStatus{"it is gone": nil, "an old one is back": {Generation: 8}} {
		s := voting(3)
		generation := s.observation.published.Roster.Generation
		s.observation.published.Roster = found
		d := decide(s.observation)
		if d.roster.record == nil || d.roster.record.Generation <= generation ||
			len(votersIn(d.roster.record)) != 3 {
			t.Errorf("%s: recorded %+v", name, d.roster.record)
		}
		if d.roster.known.Generation != generation || len(d.rosterEvents) != 0 {
			t.Errorf("%s: known %+v, events %q", name, d.roster.known, tell(d.rosterEvents))
		}
	}
}
