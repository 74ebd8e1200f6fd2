package display

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func TestNext(t *testing.T) {
	for name, test := range map[string]struct {
		group  *v1.ElectionGroup
		change func(*v1.ElectionGroup)
		want   string // the process, or what the text contains
		but    string // what is not certain
	}{
		"the highest besides the coordinator": {healthy(5), nil, "p-3", ""},
		"not one that is unhealthy": {healthy(5), func(g *v1.ElectionGroup) {
			g.Status.Processes[3].NotCandidate = v1.NotCandidateUnhealthy
		}, "p-2", ""},
		"one that ranks above the coordinator": {healthy(5), func(g *v1.ElectionGroup) {
			g.Status.Coordinator.Name = "p-1"
		}, "p-4", ""},
		"a higher one does not report": {healthy(5), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 3)
		}, "p-2", "p-3 ranks higher, and does not report to the manager"},
		"a lower one does not report": {healthy(5), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 0)
		}, "p-3", ""},
		"a higher one has crashed": {healthy(5), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessCrashed, 3)
		}, "p-2", ""},
		"its agent may be too old to say": {healthy(5), func(g *v1.ElectionGroup) {
			g.Status.Processes[3].Agent = v1.AgentOutdated
		}, "p-3", "of another version"},
		"no majority without the coordinator": {healthy(5), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 0)
			silence(g, v1.ProcessCrashed, 1)
		}, "without p-4, 2 of the 5 voters report to the manager, and a majority is 3",
			"p-0 does not report to the manager: voters that run can vote"},
		"two voters": {healthy(2), nil, "without p-1, 1 of the 2 voters report",
			"when p-1 is known to have ended, the manager removes it"},
		"one voter": {healthy(1), nil, "without p-0, 0 of the 1 voters report", "when p-0 is known"},
		"the coordinator does not vote": {healthy(3), func(g *v1.ElectionGroup) {
			g.Status.Roster.Members[2].Voter = new(false)
		}, "p-1", ""},
		"no majority without a coordinator": {healthy(3), func(g *v1.ElectionGroup) {
			lose(g, "NoMajority")
			silence(g, v1.ProcessUnknown, 0, 1)
		}, "nobody, as far as the status shows: 1 of the 3 voters", "p-1, p-0 do not report"},
		"nobody coordinates": {healthy(3), func(g *v1.ElectionGroup) { lose(g, "Electing") }, "p-2", ""},
		"no other candidate": {classic(2), func(g *v1.ElectionGroup) {
			g.Status.Processes[0].NotCandidate = v1.NotCandidateNoSession
		}, "no other process that reports to the manager is a candidate", ""},
		"no candidate": {classic(2), func(g *v1.ElectionGroup) {
			lose(g, "NoCandidate")
			g.Status.Processes[0].NotCandidate = v1.NotCandidateUnhealthy
			g.Status.Processes[1].NotCandidate = v1.NotCandidateUnhealthy
		}, "no process that reports to the manager is a candidate", ""},
		"Classic needs no majority": {classic(5), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessCrashed, 1, 2, 3)
		}, "p-0", ""},
		"nobody reports": {healthy(3), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 0, 1, 2)
		}, "not known", ""},
		"the voters may be others": {healthy(3), func(g *v1.ElectionGroup) {
			g.Status.SetBack = &v1.SetBackStatus{Newest: 9}
		}, "p-1", "a newer roster than the status holds"},
	} {
		if test.change != nil {
			test.change(test.group)
		}
		got := Of(test.group, noon).Next
		if got.Process != test.want && (got.Process != "" || !strings.Contains(got.Text, test.want)) {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
		but := strings.Join(got.NotCertain, "\n")
		if !strings.Contains(but, test.but) || test.but == "" && but != "" {
			t.Errorf("%s: not certain: %q, want %q", name, but, test.but)
		}
		if (got.After > 0) != (got.Process != "" && test.group.Status.Coordinator != nil) ||
			(got.After > 0) != (got.Wait != "") {
			t.Errorf("%s: after %d ms: %q", name, got.After, got.Wait)
		}
	}
}

func TestWait(t *testing.T) {
	steady := healthy(3)
	steady.Spec.Timing.LeaseMinimumMilliseconds = 1000
	patient := healthy(3)
	patient.Spec.Timing = v1.Timing{Profile: v1.Patient, LeaseMaximumMilliseconds: 90_000}
	fast := healthy(100)
	fast.Spec.Timing.Profile = v1.Fast
	for name, test := range map[string]struct {
		group *v1.ElectionGroup
		after int32
		says  string
	}{
		"the defaults": {healthy(3), 1000, "about 450ms to 1s, the lease: the voters' promises to p-2 " +
			"must run out first; less if it hands over"},
		"a large group":            {fast, 1000, "about 400ms to 1s, the lease"},
		"a long lease":             {patient, 90_000, "about 3s to 1m30s, the lease"},
		"one that does not change": {steady, 1000, "about 1s, the lease"},
		"Classic":                  {classic(3), 600, "up to about 600ms (a heartbeat and the timeout)"},
	} {
		got := Of(test.group, noon).Next
		if got.After != test.after || !strings.Contains(got.Wait, test.says) {
			t.Errorf("%s: %d ms, %q", name, got.After, got.Wait)
		}
	}
}

func TestExplain(t *testing.T) {
	never := func(g *v1.ElectionGroup) {
		g.Spec.Preemption = &v1.Preemption{Policy: v1.Never}
		g.Status.Coordinator.Name, g.Status.Coordinator.Priority = "p-1", new(int32(2))
	}
	for name, test := range map[string]struct {
		group  *v1.ElectionGroup
		change func(*v1.ElectionGroup)
		says   []string
		not    string
	}{
		"the highest": {healthy(3), nil, []string{
			"p-2 (priority 3) ranks highest of the 3 processes, all of them candidates.",
			"All 3 voters report that they follow it; a majority is 2.",
			"Preemption is Delayed: a higher candidate takes over when it has answered the coordinator " +
				"for 5s without interruption.",
		}, "ranks higher"},
		"Classic": {classic(3), nil, []string{
			"All 3 processes that report to the manager follow it. A Classic group needs no majority.",
			"In a Classic group the highest candidate takes over at once.",
		}, "Preemption"},
		"one": {healthy(1), nil, []string{
			"p-0 (priority 1) is the only process.",
			"The group has one voter, which reports that it follows it.",
		}, "All 1"},
		"one, Classic": {classic(1), nil, []string{
			"It is the only process that reports to the manager. A Classic group needs no majority.",
		}, "1 processes"},
		"equal priorities": {classic(2), func(g *v1.ElectionGroup) {
			g.Status.Processes[0].Priority = new(int32(2))
		}, []string{"with equal priorities, the name that sorts last ranks higher"}, ""},
		"Never": {healthy(4), never, []string{
			"2 of the 4 processes rank higher than p-1 (priority 2).",
			"Preemption is Never: the coordinator stays until it fails or leaves.",
			"p-3, p-2 rank higher, and are candidates, but preemption is Never.",
		}, "should take over"},
		"Always": {healthy(4), func(g *v1.ElectionGroup) {
			never(g)
			g.Spec.Preemption.Policy = v1.Always
		}, []string{"p-3, p-2 rank higher, and are candidates: one should take over at once."}, ""},
		"Delayed": {healthy(4), func(g *v1.ElectionGroup) {
			never(g)
			g.Spec.Preemption = &v1.Preemption{Policy: v1.Delayed, StableSeconds: new(int32(60))}
		}, []string{"one takes over when it has answered the coordinator for 60s without interruption"},
			""},
		"each for a reason of its own": {healthy(5), func(g *v1.ElectionGroup) {
			never(g)
			silence(g, v1.ProcessCrashed, 4)
			silence(g, v1.ProcessUnknown, 3)
			g.Status.Processes[2].NotCandidate = v1.NotCandidateUnhealthy
		}, []string{
			"p-4 ranks higher, but does not run.",
			"p-3 ranks higher, but does not report to the manager, so it is not known why.",
			"p-2 ranks higher, but is no candidate: its app is unhealthy.",
		}, "p-0"},
		"what was last seen": {healthy(3), func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 0, 1)
		}, []string{"1 of the 3 voters report that they follow it; a majority is 2. The status shows " +
			"what was last seen."}, ""},
		"nobody": {healthy(3), func(g *v1.ElectionGroup) {
			lose(g, "LeaseRunning")
			silence(g, v1.ProcessCrashed, 2)
			say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesCrashed")
		}, []string{"said of LeaseRunning.", "p-2 does not run.", "p-1, p-0 are candidates."},
			"said of ProcessesCrashed"},
		"nobody, by condition Stalled": {healthy(3), func(g *v1.ElectionGroup) {
			lose(g, "NoMajority")
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "MajorityLost")
		}, []string{"said of MajorityLost."}, "said of NoMajority"},
		"Stalled by something else": {healthy(3), func(g *v1.ElectionGroup) {
			lose(g, "Electing")
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "TooManyProcesses")
		}, []string{"said of Electing."}, "said of TooManyProcesses"},
	} {
		if test.change != nil {
			test.change(test.group)
		}
		e := Explain(test.group, noon)
		all := slices.Clone(e.Why)
		for _, s := range e.Higher {
			all = append(all, s.Text)
		}
		for _, want := range test.says {
			if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("%s: no %q in\n%s", name, want, strings.Join(all, "\n"))
			}
		}
		if test.not != "" && strings.Contains(strings.Join(all, "\n"), test.not) {
			t.Errorf("%s: %q in\n%s", name, test.not, strings.Join(all, "\n"))
		}
	}
}

// TestProblems: each is told once, the gravest first, with what to do and the pod to look at.
func TestProblems(t *testing.T) {
	g := healthy(3)
	lose(g, "Electing")
	silence(g, v1.ProcessCrashed, 1)
	g.Status.Processes[0].NotCandidate = v1.NotCandidateNoSession
	say(g, v1.ConditionReconciling, metav1.ConditionTrue, "Electing")
	say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesCrashed")
	say(g, v1.ConditionStalled, metav1.ConditionTrue, "ServiceRefused")
	g.Generation = 2
	var got []string
	for _, p := range Of(g, noon).Problems {
		got = append(got, p.Reason)
		if p.Do == "" || p.Message == "" {
			t.Errorf("%+v", p)
		}
		if p.Reason == "ProcessesCrashed" && !strings.Contains(p.Do, "describe pod p-1 -n shop") ||
			p.Reason == "Electing" && !strings.Contains(p.Do, "logs p-2 -c podesta-agent -n shop") {
			t.Errorf("%+v", p)
		}
	}
	want := "ServiceRefused Electing ProcessesCrashed SpecNotRead NoSession"
	if strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	say(g, v1.ConditionDegraded, metav1.ConditionTrue, "Invented")
	for _, p := range Of(g, noon).Problems {
		if p.Reason == "Invented" && (p.Do != "" || p.Message != "said of Invented") {
			t.Errorf("of a reason that is not known: %+v", p)
		}
	}
}
