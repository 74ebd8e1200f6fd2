package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/diagram"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// What the options leave open is filled in as the help says.
func TestWhatIsLeftOpen(t *testing.T) {
	for name, c := range map[string]struct {
		options     Options
		coordinator string
		crashed     []string
		initiators  []string
		detect      bool
	}{
		"nothing is said":                  {Options{Processes: 5}, "P5", []string{"P5"}, []string{"P1"}, false},
		"who is down":                      {Options{Processes: 5, Crashed: []int{1, 5}}, "P5", []string{"P1", "P5"}, []string{"P2"}, false},
		"who notices, though nobody fails": {Options{Processes: 5, Initiators: []int{3, 2}}, "P5", nil, []string{"P2", "P3"}, false},
		"the lowest is not the first":      {Options{Processes: 3, Priorities: []int{5, 9, 2}}, "P2", []string{"P2"}, []string{"P3"}, false},
		"a timed fault":                    {Options{Processes: 5, Crash: []string{"P5@3"}}, "P5", nil, nil, true},
		"a timed fault, and who notices":   {Options{Processes: 5, Crash: []string{"4@3"}, Initiators: []int{1}}, "P5", nil, []string{"P1"}, true},
		"one alone":                        {Options{Processes: 1}, "P1", nil, []string{"P1"}, false},
		"the coordinator's app":            {Options{Processes: 4, Unhealthy: []string{"P4"}}, "P4", nil, nil, false},
		"another app":                      {Options{Processes: 4, Unhealthy: []string{"2"}}, "P4", []string{"P4"}, []string{"P1"}, false},
		"another app, later":               {Options{Processes: 4, Unhealthy: []string{"2@1"}}, "P4", nil, nil, true},
		"another coordinator":              {Options{Processes: 4, Coordinator: 2}, "P2", []string{"P2"}, []string{"P1"}, false},
		"nobody coordinates":               {Options{Processes: 4, Cold: true}, "", nil, nil, false},
		"nobody watches":                   {Options{Processes: 4, Crash: []string{"4@1"}, Watch: new(bool)}, "P4", nil, nil, false},
		"named twice":                      {Options{Processes: 3, Crashed: []int{3, 3}}, "P3", []string{"P3"}, []string{"P1"}, false},
	} {
		c.options.Algorithm = "Bully"
		s, err := c.options.Scenario()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Coordinator != c.coordinator || !slices.Equal(s.Crashed, c.crashed) || !slices.Equal(s.Initiators, c.initiators) || s.Detect != c.detect {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Drawn delays stay within what the books assume, so a seed changes the order of things and not the
// outcome.
func TestSeededDelays(t *testing.T) {
	carry := jitter(7)
	different := map[scenario.Time]bool{}
	for sequence := range 1000 {
		takes, lost := carry("P1", "P2", election.Message{}, sequence)
		if lost || takes < scenario.Unit/10 || takes > scenario.Unit {
			t.Fatalf("message %d takes %d, lost %v", sequence, takes, lost)
		}
		different[takes] = true
	}
	if len(different) < 50 {
		t.Errorf("%d different delays only", len(different))
	}
	for _, algorithm := range election.Algorithms() {
		for seed := range uint64(50) {
			s, err := Options{Algorithm: algorithm, Processes: 6, Seed: seed + 1}.Scenario()
			if err != nil {
				t.Fatal(err)
			}
			if r, err := scenario.Play(s); err != nil || r.Coordinator != "P5" {
				t.Errorf("%s, seed %d: %v, they follow %v", algorithm, seed+1, err, r.Coordinators)
			}
		}
	}
}

// The diagram of a partition: two coordinators at once, the cut and its end, what is lost; and
// every message once.
func TestDraw(t *testing.T) {
	s, err := Options{Algorithm: "Bully", Processes: 4, Partitions: []string{"1,2|3,4@1-12"}}.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	r, err := scenario.Play(s)
	if err != nil {
		t.Fatal(err)
	}
	d := Draw(s, r)
	marks := map[diagram.Kind]int{}
	for _, m := range d.Marks {
		marks[m.Kind]++
	}
	lost := 0
	for _, a := range d.Arrows {
		if a.Lost {
			lost++
		}
	}
	if len(d.Lanes) != 4 || len(d.Bars) != 2 || len(d.Arrows) != r.Total+r.Views || lost == 0 {
		t.Errorf("%d lanes, %d bars, %d arrows of %d messages, %d lost", len(d.Lanes), len(d.Bars), len(d.Arrows), r.Total+r.Views, lost)
	}
	if marks[diagram.Coordinate] != 2 || marks[diagram.Stop] != 1 { // P4 from the beginning, P2 until the heal
		t.Errorf("marks: %v", marks)
	}
	if !strings.Contains(d.Title, "P4 coordinates") {
		t.Errorf("title %q", d.Title)
	}
}

// A coordinator whose app fails stops coordinating in the diagram when that happens, and not when
// it hears of the next.
func TestDrawIll(t *testing.T) {
	s, err := Options{Algorithm: "ChangRoberts", Processes: 4, Unhealthy: []string{"4"}}.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	r, err := scenario.Play(s)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range Draw(s, r).Marks {
		if m.Lane == 3 {
			said = append(said, fmt.Sprint(m.Kind, " ", m.At, " ", m.Label))
		}
	}
	want := []string{
		fmt.Sprint(diagram.Coordinate, " 0 "), fmt.Sprint(diagram.Stop, " 0 "), fmt.Sprint(diagram.Notice, " 0 unhealthy"),
	}
	if !slices.Equal(said, want) {
		t.Errorf("marks of P4: %q, want %q", said, want)
	}
}
