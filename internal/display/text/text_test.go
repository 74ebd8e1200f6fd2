package text

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/trace"
)

var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// group is a Guarded group of n processes of which the highest coordinates.
func group(n int) display.Group {
	since := time.Date(2026, time.June, 1, 11, 0, 0, 0, time.UTC)
	leader := fmt.Sprintf("p-%d", n-1)
	g := display.Group{
		Namespace: "shop",
		Name:      "g",
		State:     display.Healthy,
		Safety:    "Guarded",
		Coordinator: &display.Coordinator{
			Name:    leader,
			Epoch:   "7.2",
			Since:   &since,
			Seconds: 3600,
		},
		Running: fmt.Sprintf("%d/%d", n, n),
		Voters:  &display.Voters{Total: n, Majority: n/2 + 1, Reporting: n, MayFail: (n - 1) / 2},
		Next:    display.Next{Process: fmt.Sprintf("p-%d", n-2), After: 1000},
	}
	for i := n - 1; i >= 0; i-- {
		g.Processes = append(g.Processes, display.Process{
			Name:      fmt.Sprintf("p-%d", i),
			Priority:  int32(i),
			State:     "Normal",
			Standing:  display.StandingCandidate,
			Connected: true,
			Agrees:    true,
			Follows:   leader,
		})
	}
	g.Processes[0].State, g.Processes[0].Standing = "Coordinator", display.StandingCoordinates
	return g
}

// The first line has the state and the coordinator, whatever is wrong.
func TestHeadline(t *testing.T) {
	nobody := group(3)
	nobody.State, nobody.Reason, nobody.Coordinator = display.NoCoordinator, "MajorityLost", nil
	unknown, last, disputed, lost := nobody, group(3), group(3), nobody
	nobody.Reason = "Electing"
	unknown.State, unknown.Reason = display.Unknown, "NoStatus"
	last.State, last.Reason = display.Unknown, "NoReports"
	disputed.State, disputed.Reason, disputed.Coordinator.Epoch = display.Disputed, "Electing", ""
	for want, g := range map[string]display.Group{
		"Healthy: p-2 coordinates shop/g for 60m under epoch 7.2":           group(3),
		"NoCoordinator (Electing): nobody coordinates shop/g":               nobody,
		"NoCoordinator (MajorityLost): nobody is known to coordinate":       lost,
		"Unknown (NoStatus): it is not known who coordinates shop/g":        unknown,
		"Unknown (NoReports): p-2 was last seen to coordinate shop/g under": last,
		"Disputed (Electing): p-2 claims to coordinate shop/g for 60m":      disputed,
	} {
		if got := Status(g, Options{}); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", strings.SplitN(got, "\n", 2)[0], want)
		}
	}
}

// A line has nothing that changes by itself.
func TestLine(t *testing.T) {
	g := group(5)
	want := "Healthy: p-4 coordinates shop/g under epoch 7.2; 5/5 running; voters: 2 may fail"
	first := Line(g)
	g.Coordinator.Seconds++
	if again := Line(g); first != want || again != want {
		t.Errorf("%q, then %q, want %q", first, again, want)
	}
	g.Processes[4].State, g.Processes[1].State, g.Running = "Crashed", "Unknown", "3/5"
	g.Voters.Reporting, g.Voters.MayFail = 3, 0
	if got := Line(g); !strings.HasSuffix(got,
		"; 3/5 running; voters: no more may fail; Crashed: p-0; Unknown: p-3") {
		t.Error(got)
	}
}

func TestColours(t *testing.T) {
	g := group(3)
	g.Processes[1].State = "Crashed"
	g.Problems = []display.Problem{{Reason: "R", Message: "m", Do: "d"}}
	g.Views, g.Disagree = []display.View{{Coordinator: "p-2", Processes: []string{"p-2"}}}, true
	plain := Status(g, Options{})
	coloured := Status(g, Options{Colour: true})
	if strings.Contains(plain, "\x1b") {
		t.Errorf("colours that nobody asked for:\n%q", plain)
	}
	if coloured == plain || escape.ReplaceAllString(coloured, "") != plain {
		t.Errorf("colours change more than colours:\n%s\n%s", coloured, plain)
	}
}

func TestWidth(t *testing.T) {
	g := group(2)
	g.Processes = nil
	g.Problems = []display.Problem{{Reason: "R", Message: strings.Repeat("some words ", 40)}}
	for given, want := range map[int]int{0: 100, 60: 60, 400: 100, 3: 40} {
		longest := 0
		for line := range strings.Lines(Status(g, Options{Width: given})) {
			if strings.HasPrefix(line, "  some") || strings.HasPrefix(line, "! ") {
				longest = max(longest, cells(strings.TrimRight(line, "\n")))
			}
		}
		if longest > want || longest < want-12 {
			t.Errorf("width %d: a line of %d, want at most %d", given, longest, want)
		}
	}
	if got := wrap("", 10); len(got) != 1 || got[0] != "" {
		t.Errorf("%q", got)
	}
}

func TestCells(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "→ …": 3, "größer": 6, "日本": 4, "😀": 2} {
		if got := cells(text); got != want {
			t.Errorf("%q takes %d, want %d", text, got, want)
		}
	}
}

func TestSort(t *testing.T) {
	groups := []display.Group{{Name: "a", State: display.Healthy}, {Name: "c", State: display.NoCoordinator},
		{Name: "b", State: display.NoCoordinator}, {Namespace: "x", Name: "0", State: display.NoCoordinator},
		{Name: "d", State: display.Degraded}}
	Sort(groups)
	var got []string
	for _, g := range groups {
		got = append(got, g.Name)
	}
	if fmt.Sprint(got) != "[b c 0 d a]" {
		t.Error(got)
	}
}

// An election that nobody has called, as a lease that is passed on, has a reason all the same: the
// word that the status has.
func TestTraceShowsTheReason(t *testing.T) {
	for _, p := range []trace.Picture{
		{Coordinator: "p-2", From: "p-1", Reason: "Preempted"},
		{Coordinator: "p-2", From: "p-1", Reason: "Rolled", Initiator: "p-1"},
	} {
		got := Trace("shop/g", []trace.Picture{p}, Options{})
		if !strings.Contains(got, "  reason     "+p.Reason+"\n") {
			t.Errorf("%s", got)
		}
	}
}
