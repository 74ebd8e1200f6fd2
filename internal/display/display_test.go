package display

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

var noon = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// healthy is a Guarded group of n voters p-0 to p-(n-1); the last one coordinates.
func healthy(n int) *v1.ElectionGroup {
	leader := fmt.Sprintf("p-%d", n-1)
	g := &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "g", Generation: 1},
		Spec:       v1.ElectionGroupSpec{Safety: v1.Guarded, Algorithm: v1.Bully},
		Status: v1.ElectionGroupStatus{
			ObservedGeneration: 1,
			Coordinator: &v1.CoordinatorStatus{
				Name:     leader,
				Priority: new(int32(n)),
				Epoch:    7<<20 | 2,
				Since:    metav1.NewMicroTime(noon.Add(-time.Minute)),
			},
			Roster: &v1.RosterStatus{Generation: 7},
			Conditions: []metav1.Condition{
				{Type: v1.ConditionCoordinatorElected, Status: metav1.ConditionTrue, Reason: "Elected"},
			},
		},
	}
	for i := range n {
		name := fmt.Sprintf("p-%d", i)
		g.Status.Processes = append(g.Status.Processes, v1.ProcessStatus{
			Name:      name,
			Priority:  new(int32(i + 1)),
			State:     v1.ProcessNormal,
			Connected: new(true),
		})
		g.Status.Roster.Members = append(g.Status.Roster.Members,
			v1.RosterMember{Name: name, Voter: new(true)})
	}
	g.Status.Processes[n-1].State = v1.ProcessCoordinator
	return g
}

func classic(n int) *v1.ElectionGroup {
	g := healthy(n)
	g.Spec.Safety = v1.Classic
	return g
}

// silence has processes no longer report.
func silence(g *v1.ElectionGroup, state v1.ProcessState, some ...int) {
	for _, i := range some {
		row := &g.Status.Processes[i]
		*row = v1.ProcessStatus{Name: row.Name, Priority: row.Priority, State: state}
	}
}

func say(g *v1.ElectionGroup, kind string, status metav1.ConditionStatus, reason string) {
	g.Status.Conditions = slices.DeleteFunc(g.Status.Conditions,
		func(c metav1.Condition) bool { return c.Type == kind })
	g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: kind, Status: status,
		Reason: reason, Message: "said of " + reason})
}

// lose takes the coordinator away.
func lose(g *v1.ElectionGroup, reason string) {
	g.Status.Coordinator = nil
	for i := range g.Status.Processes {
		row := &g.Status.Processes[i]
		row.State = v1.ProcessNormal
	}
	say(g, v1.ConditionCoordinatorElected, metav1.ConditionFalse, reason)
}

func TestState(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.ElectionGroup)
		want   State
		reason string
	}{
		"healthy": {func(*v1.ElectionGroup) {}, Healthy, ""},
		"no status": {func(g *v1.ElectionGroup) {
			g.Status = v1.ElectionGroupStatus{}
		}, Unknown, "NoStatus"},
		"electing": {func(g *v1.ElectionGroup) { lose(g, "Electing") }, NoCoordinator, "Electing"},
		"stalled without a coordinator": {func(g *v1.ElectionGroup) {
			lose(g, "NoMajority")
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "MajorityLost")
		}, NoCoordinator, "MajorityLost"},
		"stalled for a reason that keeps nobody from electing": {func(g *v1.ElectionGroup) {
			lose(g, "Electing")
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "ServiceNameTaken")
		}, NoCoordinator, "Electing"},
		"stalled for a reason that is not known": {func(g *v1.ElectionGroup) {
			lose(g, "Electing")
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "Invented")
		}, NoCoordinator, "Invented"},
		"stalled with a coordinator": {func(g *v1.ElectionGroup) {
			say(g, v1.ConditionStalled, metav1.ConditionTrue, "ServiceNameTaken")
			say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesCrashed")
		}, Stalled, "ServiceNameTaken"},
		"a minority follows": {func(g *v1.ElectionGroup) {
			say(g, v1.ConditionCoordinatorElected, metav1.ConditionFalse, "Electing")
		}, Disputed, "Electing"},
		"nobody reports": {func(g *v1.ElectionGroup) {
			say(g, v1.ConditionCoordinatorElected, metav1.ConditionUnknown, "NoReports")
			say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesUnknown")
		}, Unknown, "NoReports"},
		"nobody has ever reported": {func(g *v1.ElectionGroup) {
			g.Status.Coordinator = nil
			say(g, v1.ConditionCoordinatorElected, metav1.ConditionUnknown, "NoReports")
		}, Unknown, "NoReports"},
		"degraded": {func(g *v1.ElectionGroup) {
			say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesCrashed")
			say(g, v1.ConditionReconciling, metav1.ConditionTrue, "VotersChanging")
		}, Degraded, "ProcessesCrashed"},
		"changing": {func(g *v1.ElectionGroup) {
			say(g, v1.ConditionReconciling, metav1.ConditionTrue, "VotersChanging")
		}, Changing, "VotersChanging"},
		"edited": {func(g *v1.ElectionGroup) { g.Generation = 2 }, Changing, "SpecNotRead"},
	} {
		g := healthy(3)
		test.change(g)
		if got := Of(g, noon); got.State != test.want || got.Reason != test.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.State, got.Reason, test.want, test.reason)
		}
	}
}

func TestSeverity(t *testing.T) {
	order := []State{NoCoordinator, Disputed, Stalled, Unknown, Degraded, Changing, Healthy}
	if !slices.IsSortedFunc(order, func(a, b State) int { return a.Severity() - b.Severity() }) {
		t.Error("the states are not in order")
	}
}

func TestStanding(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.ElectionGroup, *v1.ProcessStatus)
		want   Standing
	}{
		"a candidate": {func(*v1.ElectionGroup, *v1.ProcessStatus) {}, StandingCandidate},
		"the coordinator, which does not report": {func(g *v1.ElectionGroup, p *v1.ProcessStatus) {
			g.Status.Coordinator.Name, p.State, p.Connected = p.Name, v1.ProcessUnknown, new(false)
		}, StandingCoordinates},
		"unhealthy": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.NotCandidate = v1.NotCandidateUnhealthy
		}, "Unhealthy"},
		"an operator asked it to step down": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.NotCandidate = v1.NotCandidateSteppedDown
		}, "SteppedDown"},
		"a reason of another version": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.NotCandidate = "Sleepy"
		}, "Sleepy"},
		"priority 0": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.Priority = new(int32(0))
		}, "PriorityZero"},
		"priority 0 and silent": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.Priority, p.State, p.Connected = new(int32(0)), v1.ProcessUnknown, new(false)
		}, "PriorityZero"},
		"no priority": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) { p.Priority = nil },
			"PriorityZero"},
		"crashed": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.State, p.Connected = v1.ProcessCrashed, nil
		}, StandingCrashed},
		"silent": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.State, p.Connected = v1.ProcessUnknown, nil
		}, StandingSilent},
		"a connection that has just broken": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.Connected = new(false)
		}, StandingSilent},
		"no agent": {func(_ *v1.ElectionGroup, p *v1.ProcessStatus) {
			p.State, p.Connected, p.Agent = v1.ProcessUnknown, nil, v1.AgentMissing
		}, StandingNoAgent},
		"not on the roster": {func(g *v1.ElectionGroup, _ *v1.ProcessStatus) {
			g.Status.Roster.Members = g.Status.Roster.Members[1:]
		}, StandingNotOnRoster},
	} {
		g := healthy(3)
		test.change(g, &g.Status.Processes[0])
		all := Of(g, noon).Processes
		i := slices.IndexFunc(all, func(p Process) bool { return p.Name == "p-0" })
		if got := all[i].Standing; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if said := test.want.why(1); said == "" || said == test.want.why(2) {
			t.Errorf("%s: one: %q, two: %q", name, said, test.want.why(2))
		}
	}
}

// TestOrder: the table is in the order of rank. Of equal priorities, the later name ranks higher,
// as the processes compare names: p-9 ranks higher than p-10.
func TestOrder(t *testing.T) {
	g := classic(11)
	for i := range g.Status.Processes {
		g.Status.Processes[i].Priority = new(int32(1))
	}
	g.Status.Processes[4].Priority = new(int32(2))
	var got []string
	for _, p := range Of(g, noon).Processes {
		got = append(got, strings.TrimPrefix(p.Name, "p-"))
	}
	if want := "4 9 8 7 6 5 3 2 10 1 0"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestViews(t *testing.T) {
	g := classic(5)
	g.Status.Processes[0].Follows = "p-3"
	g.Status.Processes[1].Electing = new(true)
	silence(g, v1.ProcessUnknown, 2)
	g.Status.Processes[2].Follows = "p-4" // of an earlier report
	got := Of(g, noon)
	var agree []string
	for _, p := range got.Processes {
		if p.Agrees {
			agree = append(agree, p.Name)
		}
	}
	if fmt.Sprint(agree) != "[p-4 p-3]" {
		t.Errorf("%v agree", agree)
	}
	if fmt.Sprint(got.Views) != "[{p-4 [p-4 p-3]} {p-3 [p-0]} { [p-1]}]" || !got.Disagree {
		t.Errorf("views: %v, disagree: %v", got.Views, got.Disagree)
	}
	g.Status.Processes[0].Follows = "p-4"
	if Of(g, noon).Disagree {
		t.Error("a process that follows nobody names nobody")
	}
}

// The elections are the status's, and say nothing that agents have not told.
func TestElections(t *testing.T) {
	g := healthy(3)
	g.Status.Elections = []v1.ElectionStatus{{To: "p-2"}}
	if got := Of(g, noon).Elections; len(got) != 1 || got[0] != (Election{To: "p-2"}) {
		t.Errorf("%+v", got)
	}
	at := metav1.NewMicroTime(noon.Add(-90 * time.Second))
	g.Status.Elections = []v1.ElectionStatus{{At: at, To: "p-2", From: "p-1", Epoch: 3<<20 + 7}}
	if e := Of(g, noon).Elections[0]; e.Seconds != 90 || !e.At.Equal(at.Time) || e.From != "p-1" ||
		e.Epoch != "3.7" {
		t.Errorf("%+v", e)
	}
	c := classic(3)
	c.Status.Elections = g.Status.Elections
	if e := Of(c, noon).Elections[0]; e.Epoch != "" {
		t.Errorf("an epoch in a Classic group: %+v", e)
	}
}

func TestVoters(t *testing.T) {
	for name, test := range map[string]struct {
		voters int
		change func(*v1.ElectionGroup)
		want   Voters
	}{
		"none yet": {3, func(g *v1.ElectionGroup) { g.Status.Roster = nil }, Voters{}},
		"one":      {1, nil, Voters{Total: 1, Majority: 1, Reporting: 1}},
		"two":      {2, nil, Voters{Total: 2, Majority: 2, Reporting: 2}},
		"four":     {4, nil, Voters{Total: 4, Majority: 3, Reporting: 4, MayFail: 1}},
		"five":     {5, nil, Voters{Total: 5, Majority: 3, Reporting: 5, MayFail: 2}},
		"five, one of them silent, one crashed": {5, func(g *v1.ElectionGroup) {
			silence(g, v1.ProcessUnknown, 0)
			silence(g, v1.ProcessCrashed, 1)
		}, Voters{Total: 5, Majority: 3, Reporting: 3, Crashed: 1}},
		"no majority": {5, func(g *v1.ElectionGroup) { silence(g, v1.ProcessUnknown, 0, 1, 2, 3) },
			Voters{Total: 5, Majority: 3, Reporting: 1, Missing: 2}},
		"a pod under the name of one that is gone": {3, func(g *v1.ElectionGroup) {
			g.Status.Roster.Members[0].GoneSince = metav1.NewTime(noon)
		}, Voters{Total: 3, Majority: 2, Reporting: 2}},
		"a process that does not vote": {4, func(g *v1.ElectionGroup) {
			g.Status.Roster.Members[0].Voter = new(false)
		}, Voters{Total: 3, Majority: 2, Reporting: 3, MayFail: 1}},
		"set back": {3, func(g *v1.ElectionGroup) {
			g.Status.SetBack = &v1.SetBackStatus{Newest: 9}
		}, Voters{Total: 3, Majority: 2, Reporting: 3, MayFail: 1, Outdated: true}},
	} {
		g := healthy(test.voters)
		if test.change != nil {
			test.change(g)
		}
		if got := Of(g, noon).Voters; *got != test.want {
			t.Errorf("%s: %+v, want %+v", name, *got, test.want)
		}
	}
	if got := Of(classic(3), noon).Voters; got != nil {
		t.Errorf("a Classic group has voters: %+v", got)
	}
}

// TestReasons: every reason of docs/reference/status.md has what to do, or what it means.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/status.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| ((?:`[A-Za-z]+`(?:, )?)+) \\|")
	found := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		kind, text, _ := strings.Cut(section, "\n")
		if reasons[kind] == nil {
			continue
		}
		for _, cells := range row.FindAllStringSubmatch(text, -1) {
			for reason := range strings.SplitSeq(strings.ReplaceAll(cells[1], "`", ""), ", ") {
				found++
				s := newSubject(healthy(1), noon)
				if known := s.adviceOn(kind, reason); known.do == "" && known.means == "" {
					t.Errorf("%s, %s: status.md explains it, and this package does not", kind, reason)
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("status.md has %d reasons: the test does not find them any more", found)
	}
}

func TestPrintable(t *testing.T) {
	for given, want := range map[string]string{
		"":                         "",
		"scheduler-4":              "scheduler-4",
		"größer → 5, 日本":           "größer → 5, 日本",
		"a\x1b[2Jb":                `a\x1b[2Jb`,
		"a\nb\tc\r\n":              "a b c  ",
		"\u009b31m":                `\x9b31m`,
		"\x7f":                     `\x7f`,
		"\u202egpj.exe":            `\u202egpj.exe`,
		"e\u0301\u0301":            `e\u0301\u0301`,
		"\xff\xfe":                 `\xff\xfe`,
		"no\u00a0break\u200b":      `no\xa0break\u200b`,
		strings.Repeat("\x1b", 11): strings.Repeat(`\x1b`, 9) + `\x1…`,
		strings.Repeat("x", 41):    strings.Repeat("x", 39) + "…",
	} {
		if got := Printable(given, 40); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// TestBounded: whatever a status says, what is shown of it has a bounded length.
func TestBounded(t *testing.T) {
	g := healthy(3)
	long := strings.Repeat("\x1b", 10_000)
	for i := range g.Status.Processes {
		g.Status.Processes[i].Follows = long
	}
	for range 100 {
		g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: "Other",
			Status: metav1.ConditionTrue, Reason: long, Message: long})
	}
	say(g, v1.ConditionStalled, metav1.ConditionTrue, long)
	g.Status.Conditions[len(g.Status.Conditions)-1].Message = long
	got := Of(g, noon)
	if len(got.Problems) != 1 {
		t.Errorf("%d problems", len(got.Problems))
	}
	p := got.Problems[0]
	if n := len([]rune(p.Message)); n != maxMessage {
		t.Errorf("a message of %d characters", n)
	}
	if n := len([]rune(got.Processes[0].Follows)); n != maxName {
		t.Errorf("a name of %d characters", n)
	}
	if e := Explain(g, noon); len(e.Higher) > 20 {
		t.Errorf("%d standings", len(e.Higher))
	}
}

func TestTimes(t *testing.T) {
	g := healthy(3)
	c := Of(g, noon).Coordinator
	if c.Epoch != "7.2" || c.Seconds != 60 || !c.Since.Equal(noon.Add(-time.Minute)) {
		t.Errorf("%+v", c)
	}
	if c := Of(g, noon.Add(-time.Hour)).Coordinator; c.Seconds != 0 {
		t.Errorf("by a clock that is behind, it coordinates for %d s", c.Seconds)
	}
	if c := Of(classic(3), noon).Coordinator; c.Epoch != "" {
		t.Errorf("a Classic group has epoch %s", c.Epoch)
	}
	g.Status.Roster.Members[0].GoneSince = metav1.NewTime(noon.Add(-time.Hour))
	if p := Of(g, noon).Processes[2]; p.GoneSeconds != 3600 {
		t.Errorf("%+v", p)
	}
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[int64]string{1: "1s", 60: "1m", 90: "1m30s", 600: "10m", 3600: "1h",
		5400: "1h30m", 86400: "24h", 3601: "1h0m1s"} {
		if got := Duration(time.Duration(seconds) * time.Second); got != want {
			t.Errorf("%d: %s, want %s", seconds, got, want)
		}
	}
}

// What the manager has published is what is shown: the voters that may fail now.
func TestToleratedFailures(t *testing.T) {
	files, err := filepath.Glob("testdata/groups/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no groups: %v", err)
	}
	for _, file := range files {
		g := &v1.ElectionGroup{}
		if text, err := os.ReadFile(file); err != nil || yaml.Unmarshal(text, g) != nil {
			t.Fatalf("%s: %v", file, err)
		}
		shown := Of(g, noon)
		if published := g.Status.ToleratedFailures; shown.Voters != nil && published != nil &&
			int(*published) != shown.Voters.MayFail {
			t.Errorf("%s: %d may fail as published, %d as shown", g.Name, *published,
				shown.Voters.MayFail)
		}
	}
}

// Each pod that has failed is named, not only one of them.
func TestAllCrashedPodsAreToBeLookedAt(t *testing.T) {
	g := healthy(5)
	silence(g, v1.ProcessCrashed, 1, 3)
	say(g, v1.ConditionDegraded, metav1.ConditionTrue, "ProcessesCrashed")
	problems := Of(g, noon).Problems
	if len(problems) != 1 || problems[0].Do != "Find out why: kubectl describe pod p-3 p-1 -n shop." {
		t.Errorf("%+v", problems)
	}
}
