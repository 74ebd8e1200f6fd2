package scenario_test

import (
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// What happens between the processes of a scenario that the books do not speak of, and how it ends.
func TestMishaps(t *testing.T) {
	fault := func(at scenario.Time, kind scenario.FaultKind, processes ...string) scenario.Fault {
		return scenario.Fault{At: at * unit, Kind: kind, Processes: processes}
	}
	for name, c := range map[string]struct {
		faults []scenario.Fault
		at5    string // what P1 to P3 follow at time 5
		end    string
	}{
		"unhealthy and healthy": {[]scenario.Fault{fault(1, scenario.Unhealthy, "P3"), fault(12, scenario.Healthy, "P3")}, "P2 P2 P2", "P3"},
		"paused":                {[]scenario.Fault{fault(1, scenario.Pause, "P3"), fault(12, scenario.Resume, "P3")}, "P2 P2 P3", "P3"},
		"dies in its sleep":     {[]scenario.Fault{fault(1, scenario.Pause, "P3"), fault(12, scenario.Crash, "P3")}, "P2 P2 P3", "P2"},
		"a short nap":           {[]scenario.Fault{fault(1, scenario.Pause, "P3"), fault(2, scenario.Resume, "P3")}, "P3 P3 P3", "P3"},
		"misjudged": {[]scenario.Fault{fault(1, scenario.Misjudge, "P2", "P3"),
			fault(12, scenario.Relink, "P2", "P3")}, "P2 P2 P3", "P3"},
		"heard one way": {[]scenario.Fault{{At: unit, Kind: scenario.OneWay, Sides: [][]string{{"P3"}, {"P1", "P2"}}},
			fault(12, scenario.Heal)}, "P2 P2 P3", "P3"},
	} {
		s := scenario.Scenario{Algorithm: "Bully", Processes: processes(3), Detect: true, Faults: c.faults}
		r, err := scenario.Play(s)
		if err != nil || r.Coordinator != c.end {
			t.Errorf("%s: %v, in the end they follow %v, want %s\n%s", name, err, r.Coordinators, c.end, lines(r.Events))
		}
		follow := map[string]string{"P1": "P3", "P2": "P3", "P3": "P3"}
		for _, e := range r.Events {
			if e.Kind == scenario.Follows && e.At <= 5*unit {
				follow[e.Process] = e.Peer
			}
		}
		if got := follow["P1"] + " " + follow["P2"] + " " + follow["P3"]; got != c.at5 {
			t.Errorf("%s: at 5 they follow %s, want %s\n%s", name, got, c.at5, lines(r.Events))
		}
	}
}

// A link keeps its order, however long its messages take, and loses what the scenario says.
func TestCarry(t *testing.T) {
	s := scenario.Scenario{
		Algorithm: "LeLann", Processes: processes(4), Initiators: []string{"P1"},
		Carry: func(_, _ string, m election.Message, sequence int) (scenario.Time, bool) {
			return unit * scenario.Time(2-sequence%2), m.Kind == election.NewCoordinator && sequence%3 == 0
		},
		Until: 200 * unit,
	}
	r, err := scenario.Play(s)
	if err != nil {
		t.Fatal(err)
	}
	lost, last := 0, map[string]int{}
	for _, e := range r.Events {
		switch e.Kind {
		case scenario.Lost:
			lost++
			fallthrough
		case scenario.Delivered:
			link := e.Peer + e.Process
			if e.Sequence < last[link] {
				t.Errorf("message %d overtakes %d on %s", last[link], e.Sequence, link)
			}
			last[link] = e.Sequence
		default:
		}
	}
	if lost == 0 {
		t.Error("nothing was lost")
	}
}

// A fault that makes no sense is refused with what would.
func TestBadFaults(t *testing.T) {
	for want, f := range map[string]scenario.Fault{
		"names two sides":                      {Kind: scenario.OneWay, Sides: [][]string{{"P1"}}},
		"names the process that errs":          {Kind: scenario.Misjudge, Processes: []string{"P1"}},
		"names processes, and no sides":        {Kind: scenario.Pause},
		"there is no process \"P9\"":           {Kind: scenario.Unhealthy, Processes: []string{"P9"}},
		"no fault \"Flood\"; there are [Crash": {Kind: "Flood"},
	} {
		_, err := scenario.Play(scenario.Scenario{Algorithm: "Bully", Processes: processes(2), Faults: []scenario.Fault{f}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}
