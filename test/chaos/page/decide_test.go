package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register/history"
)

func TestSpread(t *testing.T) {
	upTo := func(n int) (all []float64) {
		for i := range n {
			all = append(all, float64(n-i))
		}
		return all
	}
	for n, want := range map[int]Spread{
		0: {}, 1: {1, 1, 1, 1}, 2: {2, 1, 2, 2}, 9: {9, 5, 9, 9}, 10: {10, 5, 9, 10}, 11: {11, 6, 10, 11}, 70: {70, 35, 63, 70}, 100: {100, 50, 90, 100},
	} {
		if got := spread(upTo(n)); got != want {
			t.Errorf("of 1 to %d: %+v, want %+v", n, got, want)
		}
	}
}

// A fault that several groups feel is one; what is done to several groups, each its own, is
// several.
func TestFaults(t *testing.T) {
	strike := func(round int, class report.Class, fault, victim, group string) report.Strike {
		return report.Strike{Round: round, Class: class, Fault: fault, Victim: victim, Group: group}
	}
	for name, c := range map[string]struct {
		strikes []report.Strike
		want    int
	}{
		"none": {},
		"a pod of each of two groups": {[]report.Strike{
			strike(1, report.Kill, "kill agent", "a-1", "a"), strike(1, report.Kill, "kill agent", "b-1", "b")}, 2},
		"a node with pods of two groups": {[]report.Strike{
			strike(1, report.Pause, "pause node", "worker", "a"), strike(1, report.Pause, "pause node", "worker", "b")}, 1},
		"the same node in another round": {[]report.Strike{
			strike(1, report.Pause, "pause node", "worker", "a"), strike(2, report.Pause, "pause node", "worker", "b")}, 2},
		"the same node twice in a round": {[]report.Strike{
			strike(1, report.Pause, "pause node", "worker", "a"), strike(1, report.Pause, "pause node", "worker", "b"),
			strike(1, report.Pause, "pause node", "worker", "a"), strike(1, report.Pause, "pause node", "worker", "b")}, 2},
		"the API server of two groups": {[]report.Strike{
			strike(1, report.Outage, "API server away", "", "a"), strike(1, report.Outage, "API server away", "", "b")}, 1},
		"two groups edited": {[]report.Strike{
			strike(1, report.Edit, "edit priorities", "", "a"), strike(1, report.Edit, "edit priorities", "", "b")}, 2},
		"two groups restarted": {[]report.Strike{
			strike(1, report.Leave, "rolling restart", "", "a"), strike(1, report.Leave, "rolling restart", "", "b")}, 2},
		"a node drained": {[]report.Strike{
			strike(1, report.Leave, "drain node", "worker", "a"), strike(1, report.Leave, "drain node", "worker", "b")}, 1},
	} {
		if got := faults(c.strikes); got != c.want {
			t.Errorf("%s: %d faults, want %d", name, got, c.want)
		}
	}
}

// Classes with a goal have a line also if nothing of the kind was done; one that the page has no
// words for has a line all the same.
func TestCounts(t *testing.T) {
	run := report.Run{LeaseMilliseconds: 1000, Strikes: []report.Strike{
		{Round: 1, Class: report.Pause, Fault: "pause pod", Victim: "a-1", Milliseconds: 1000},
		{Round: 2, Class: report.Pause, Fault: "pause pod", Victim: "a-1", Milliseconds: 1001},
		{Round: 3, Class: "flood", Fault: "flood cellar"},
	}}
	var got []string
	for _, c := range counts(run) {
		got = append(got, strings.Join([]string{c.Name, strings.Repeat("I", c.Faults), map[bool]string{true: "missed"}[c.Missed()]}, " "))
	}
	want := []string{"kills  missed", "cuts  missed", "pauses II ", "… longer than the lease I missed", "flood I "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The sentence in bold says what is so, for better or worse.
func TestPromise(t *testing.T) {
	good := Outcome{Groups: 2, Told: 100, Writes: history.Writes{Refused: 7}}
	with := func(change func(*Outcome)) Outcome {
		o := good
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		Outcome
		want string
	}{
		"all is well":      {good, "refused every one"},
		"one stale write":  {with(func(o *Outcome) { o.Writes.Refused = 1 }), "sent 1 stale write,"},
		"no Guarded group": {Outcome{}, "nothing of what Guarded promises"},
		"two at once": {with(func(o *Outcome) { o.Together = history.Times{Count: 1, Total: time.Second} }),
			"broke their promise**: two were told at once that they may act once, for 1 s"},
		"an epoch went back":  {with(func(o *Outcome) { o.EpochsBack = 1 }), "broke their promise"},
		"a stale write taken": {with(func(o *Outcome) { o.Writes.Stale = 3 }), "3 stale writes were taken"},
		"any other rule":      {with(func(o *Outcome) { o.Violations = 1 }), "1 rule broken"},
		"nobody was told":     {with(func(o *Outcome) { o.Told = 0 }), "nothing was tried"},
		"nothing refused":     {with(func(o *Outcome) { o.Writes.Refused = 0 }), "its fence was not tried"},
	} {
		if got := promise(c.Outcome); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q lacks %q", name, got, c.want)
		}
	}
}

// Groups of a mode are added up, and each broken rule counts where it belongs.
func TestOutcome(t *testing.T) {
	broken := func(rules ...history.Rule) (all []history.Violation) {
		for _, r := range rules {
			all = append(all, history.Violation{Rule: r})
		}
		return all
	}
	run := report.Run{Groups: []report.Group{
		{Name: "a", Safety: guarded, Seconds: 40, Became: history.Report{Told: 1, Nobody: history.Times{Count: 1, Total: 3, Longest: 3},
			Writes: history.Writes{Stale: 1}, Violations: broken(history.EpochBack, history.StaleAccepted, history.StaleAccepted)}},
		{Name: "b", Safety: classic, Became: history.Report{Told: 100}},
		{Name: "c", Safety: guarded, Seconds: 80, Became: history.Report{Told: 2, Nobody: history.Times{Count: 2, Total: 4, Longest: 2},
			Violations: broken(history.TwoOwners, history.ReleasedEarly, history.FreshRefused)}},
	}}
	want := Outcome{Groups: 2, Observed: 2 * time.Minute, Told: 3, Nobody: history.Times{Count: 3, Total: 7, Longest: 3}, EpochsBack: 2, Released: 1,
		Writes: history.Writes{Stale: 2}, Violations: 6}
	if diff := cmp.Diff(want, outcome(run, guarded)); diff != "" {
		t.Error(diff)
	}
}

// Nothing that a report calls wrong is left out, whichever part of it says so.
func TestProblems(t *testing.T) {
	run := report.Run{
		Problems: []string{"nobody may act", "nobody may act"},
		Strikes: []report.Strike{
			{Second: 1, Group: "a", Fault: "kill agent", Victim: "a-1", Problem: "nobody may act"},
			{Second: 2, Group: "a", Fault: "kill etcd"},
			{Second: 3, Group: "a", Fault: "kill etcd", OK: true},
		},
		Groups: []report.Group{{Name: "a", Became: history.Report{Violations: []history.Violation{{Rule: history.TwoAct, Text: "a-1 and a-2"}}}}},
	}
	want := []string{
		"nobody may act", "second 1.0, kill agent of a-1, a: nobody may act", "second 2.0, kill etcd, a: not OK, and the report does not say why",
		"a: two may act at once: a-1 and a-2",
	}
	if diff := cmp.Diff(want, problems(run)); diff != "" {
		t.Error(diff)
	}
}

// Only strikes that changed something have the times of a failover; those that were not alone are
// kept apart where it is about faults.
func TestRows(t *testing.T) {
	ms := func(t float64) *float64 { return &t }
	whole := report.Times{Acts: ms(9), Agreed: ms(10), Status: ms(11), Service: ms(12)}
	a, b := report.Holder{Process: "g-1", Epoch: 1}, report.Holder{Process: "g-2", Epoch: 2}
	run := report.Run{Groups: []report.Group{
		{Name: "c", Algorithm: "RingList", Safety: classic, Processes: 7}, {Name: "g", Algorithm: "Bully", Safety: guarded, Processes: 5}},
		Strikes: []report.Strike{
			{Group: "g", Class: report.Leave, Fault: "drain node", Before: a, First: b, Times: report.Times{Acts: ms(5)}},
			{Group: "c", Class: report.Kill, Fault: "kill pod", Before: a, First: b, Times: whole},
			{Group: "g", Class: report.Kill, Fault: "kill pod", Before: a, First: a, After: b, Times: report.Times{Acts: ms(1)}},
			{Group: "g", Class: report.Kill, Fault: "kill pod", Before: a, First: b, Times: whole, Coordinator: true},
			{Group: "g", Class: report.Kill, Fault: "kill pod", Before: a, First: b, Times: whole, Overlapping: true},
		}}
	type got struct {
		class                report.Class
		name, safety         string
		strikes, changed     int
		acts, service, whole int
	}
	summary := func(rows []Row) (all []got) {
		for _, r := range rows {
			all = append(all, got{r.Class, r.Name, r.Safety, r.Strikes, r.Changed, len(r.Acts), len(r.Service), len(r.Whole)})
		}
		return all
	}
	for name, c := range map[string]struct{ got, want []got }{
		"by fault": {summary(byFault(run)), []got{
			{report.Kill, "kill pod", guarded, 2, 1, 1, 1, 1}, {report.Kill, "kill pod", classic, 1, 1, 1, 1, 1},
			{report.Leave, "drain node", guarded, 1, 1, 1, 0, 0}, {several, "two faults at once", guarded, 1, 1, 1, 1, 1}}},
		"by algorithm": {summary(byAlgorithm(run)), []got{{"", "RingList", classic, 1, 1, 1, 1, 1}, {"", "Bully", guarded, 4, 3, 3, 2, 2}}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if s := slowest(run, 2); len(s) != 2 || s[0].Group != "c" || s[1].Group != "g" || *s[1].Times.Acts != 9 {
		t.Errorf("the slowest two: %+v", s)
	}
}

func TestFigures(t *testing.T) {
	for milliseconds, want := range map[float64]string{
		0: "0.000", 3.9: "0.004", 99.4: "0.099", 99.6: "0.10", 950: "0.95", 9994: "9.99", 9996: "10.0", 62_345: "62.3", 99_960: "100", 123_456: "123",
	} {
		if got := seconds(milliseconds); got != want {
			t.Errorf("%g ms: %s, want %s", milliseconds, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0 µs", 850 * time.Millisecond: "850 ms", time.Second: "1 s", 1500 * time.Millisecond: "1.5 s", 90 * time.Second: "90 s", 200 * time.Second: "200 s",
		1250 * time.Millisecond: "1.25 s", 10 * time.Minute: "10 min", 147 * time.Minute: "2 h 27 min", 120*time.Minute - time.Second: "120 min",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// Text of a report stays text, and in its cell.
func TestCell(t *testing.T) {
	if got, want := cell(" a|b\n<b>*x*_y_`z` [1] # "), `a\|b \<b\>\*x\*\_y\_`+"\\`z\\`"+` \[1\] \#`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTimeline(t *testing.T) {
	for name, c := range map[string]struct {
		times []float64
		want  axis
	}{
		"a few":               {[]float64{3, 950, 12}, axis{2, 1000}},
		"on a mark":           {[]float64{2, 1000}, axis{2, 2000}},
		"all the same":        {[]float64{300}, axis{200, 2000}},
		"sooner than a clock": {[]float64{0, 40}, axis{1, 50}},
	} {
		a, ok := timeline(c.times)
		if !ok || a != c.want {
			t.Errorf("%s: %v, want %v", name, a, c.want)
		}
		for _, at := range c.times {
			if x := a.clip(at); x < a.from || x > a.to || at >= left && x != at {
				t.Errorf("%s: %g is drawn at %g", name, at, x)
			}
		}
	}
	if _, ok := timeline(nil, []float64{}); ok {
		t.Error("a timeline of no times")
	}
}

// Dots do not touch while there is room, and overlap in the lane with most room when there is not.
func TestSwarm(t *testing.T) {
	for name, c := range map[string]struct {
		places []float64
		want   []int
	}{
		"apart":      {[]float64{0, 3, 6}, []int{0, 0, 0}},
		"close":      {[]float64{0, 1, 2, 3}, []int{0, 1, -1, 0}},
		"one place":  {[]float64{5, 5, 5}, []int{0, 1, -1}},
		"overflowed": {[]float64{0, 1, 1.5, 2, 2.5}, []int{0, 1, -1, 0, 1}},
	} {
		if got := swarm(c.places, 3, 3); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLeases(t *testing.T) {
	for _, c := range []struct {
		longest, shortest int64
		want              string
	}{
		{1000, 0, "1 s"},
		{1000, 1000, "1 s"},
		{1000, 100, "100 ms to 1 s, as its holder needs"},
	} {
		run := report.Run{LeaseMilliseconds: c.longest, LeaseMinimumMilliseconds: c.shortest}
		if got := leases(run); got != c.want {
			t.Errorf("%d and at least %d: %q, want %q", c.longest, c.shortest, got, c.want)
		}
	}
}
