package simulate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/diagram"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Draw makes the space–time diagram of what came of a scenario.
func Draw(s scenario.Scenario, r scenario.Result) diagram.Diagram {
	return DrawTitled(fmt.Sprintf("%s, %s: %s", s.Algorithm, processes(s), Summary(r)), s, r)
}

// DrawTitled is Draw with a title of its own.
func DrawTitled(title string, s scenario.Scenario, r scenario.Result) diagram.Diagram {
	p := picture{
		Diagram:     diagram.Diagram{Title: title, Axis: "time in link delays"},
		lanes:       map[string]int{},
		coordinates: map[int]bool{},
		fate:        fates(r.Events),
	}
	for i, q := range s.Processes {
		p.lanes[q.Name] = i
		p.Lanes = append(p.Lanes, q.Name)
	}
	if s.Coordinator != "" && !slices.Contains(s.Crashed, s.Coordinator) {
		p.coordinate(p.lanes[s.Coordinator], 0)
	}
	last := 0.0
	for _, e := range r.Events {
		p.add(e)
		last = max(last, units(e.At))
	}
	p.End = math.Ceil(last + 0.6)
	for i := range p.Arrows { // what is still under way goes on beyond the end
		p.Arrows[i].Received = min(p.Arrows[i].Received, p.End)
	}
	return p.Diagram
}

// picture is a diagram that grows event by event.
type picture struct {
	diagram.Diagram
	lanes       map[string]int
	coordinates map[int]bool
	fate        map[int]fate
}

func (p *picture) add(e scenario.Event) {
	at, lane := units(e.At), p.lanes[e.Process]
	switch e.Kind {
	case scenario.Sent:
		p.message(e, at)
	case scenario.HasFailed:
		p.coordinates[lane] = false
		p.mark(lane, at, diagram.Crash, "")
	case scenario.Recovered:
		p.mark(lane, at, diagram.Recover, "recovers")
	case scenario.Starts:
		p.mark(lane, at, diagram.Notice, "starts")
	case scenario.Follows:
		if e.Peer == e.Process {
			p.coordinate(lane, at)
		} else {
			p.stop(lane, at)
		}
	case scenario.Suspects:
		p.takeLosses(lane, at) // it says the same, and more
		p.mark(lane, at, diagram.Notice, "misses "+e.Peer)
	case scenario.TimedOut:
		p.mark(lane, at, diagram.Notice,
			map[string]string{string(election.AwaitAnswer): "T",
				string(election.AwaitAnnouncement): "T'"}[e.Note])
	case scenario.LinkDown:
		label := "loses " + e.Peer
		if before := p.takeLosses(lane, at); before != "" {
			label = before + ", " + e.Peer
		}
		p.mark(lane, at, diagram.Notice, label)
	case scenario.Withdraws:
		p.stop(lane, at)
		p.mark(lane, at, diagram.Notice, "unhealthy")
	case scenario.Restored:
		p.mark(lane, at, diagram.Notice, "healthy")
	case scenario.Paused:
		p.mark(lane, at, diagram.Notice, "paused")
	case scenario.Resumed:
		p.mark(lane, at, diagram.Notice, "goes on")
	case scenario.WasCut:
		p.Bars = append(p.Bars, diagram.Bar{At: at, Label: "cut: " + e.Note})
	case scenario.Healed:
		p.Bars = append(p.Bars, diagram.Bar{At: at, Label: "healed"})
	case scenario.Delivered, scenario.Lost, scenario.LinkUp, scenario.Changed:
	default: // of lease, which is not drawn here
	}
}

// takeLosses removes the mark that says which processes a process lost at this moment, and returns
// what it says.
func (p *picture) takeLosses(lane int, at float64) (label string) {
	p.Marks = slices.DeleteFunc(p.Marks, func(m diagram.Mark) bool {
		same := m.Lane == lane && m.At == at && strings.HasPrefix(m.Label, "loses ")
		if same {
			label = m.Label
		}
		return same
	})
	return label
}

func (p *picture) mark(lane int, at float64, kind diagram.Kind, label string) {
	p.Marks = append(p.Marks, diagram.Mark{
		Lane:  lane,
		At:    at,
		Kind:  kind,
		Label: label,
	})
}

func (p *picture) coordinate(lane int, at float64) {
	if !p.coordinates[lane] {
		p.coordinates[lane] = true
		p.mark(lane, at, diagram.Coordinate, "")
	}
}

func (p *picture) stop(lane int, at float64) {
	if p.coordinates[lane] {
		p.coordinates[lane] = false
		p.mark(lane, at, diagram.Stop, "")
	}
}

func (p *picture) message(e scenario.Event, at float64) {
	f, arrived := p.fate[e.Sequence]
	received := units(f.at)
	if !arrived {
		received = at + 1
	}
	p.Arrows = append(p.Arrows, diagram.Arrow{
		From:     p.lanes[e.Process],
		To:       p.lanes[e.Peer],
		Sent:     at,
		Received: received,
		Label:    string(e.Message.Kind),
		Detail:   detail(e),
		Lost:     f.lost != "",
	})
}

// detail is what a message says, as far as there is room for it. Who announces himself needs no
// name.
func detail(e scenario.Event) string {
	m := e.Message
	if len(m.List) > 0 && m.Kind == election.Election {
		numbers := make([]string, 0, len(m.List))
		for _, name := range m.List {
			numbers = append(numbers, strings.TrimPrefix(name, "P"))
		}
		return "[" + strings.Join(numbers, " ") + "]"
	}
	if m.Kind == election.Coordinator && m.Process == e.Process && len(m.List) == 0 {
		return ""
	}
	return m.Process
}
