package trace

import (
	"fmt"

	"github.com/podesta-dev/podesta/internal/diagram"
)

// axis and key are what a drawing says of itself: it has no clock.
const (
	axis = "to the right: later on the same line, or along an arrow; the order of anything else is " +
		"not known"
	key = "thick line: coordinator   ·   dotted line: no account   ·   ?: no receipt is told"
)

// Draw makes the space–time diagram of a picture, with a title. A column is no time: an event is to
// the right of those that are known to have happened before it, and what is in one column may have
// happened in any order.
func (p Picture) Draw(title string) diagram.Diagram {
	d := diagram.Diagram{Title: title, Axis: axis, Key: key, Silent: map[int]bool{}, NoFigures: true}
	lane := map[string]int{}
	for i, q := range p.Processes {
		lane[q.Name] = i
		d.Lanes = append(d.Lanes, q.Name)
		d.Silent[i] = !q.Account
	}
	at := func(e Event) float64 { return float64(e.Step - 1) }
	last := 0.0
	for _, e := range p.Events {
		last = max(last, at(e)+1)
		switch e.What {
		case TakesPart:
			d.Marks = append(d.Marks, notice(lane[e.Process], at(e), label(e)))
		case Follows:
			if e.Peer == e.Process {
				d.Marks = append(d.Marks, diagram.Mark{
					Lane:  lane[e.Process],
					At:    at(e),
					Kind:  diagram.Coordinate,
					Label: "",
				})
			} else {
				d.Marks = append(d.Marks, notice(lane[e.Process], at(e), "follows "+e.Peer))
			}
		case Sends:
			d.Arrows = append(d.Arrows, p.arrow(e, lane))
		}
	}
	if len(p.Events) == 0 { // of an election that no agent tells of, its result is known
		last = 2
		if p.Coordinator != "" {
			d.Marks = append(d.Marks, diagram.Mark{Lane: lane[p.Coordinator], At: 1,
				Kind: diagram.Coordinate, Label: "was elected"})
		}
		if p.Initiator != "" {
			d.Marks = append(d.Marks, notice(lane[p.Initiator], 0, "called it: "+p.Reason))
		}
	}
	d.End = last
	return d
}

func notice(lane int, at float64, label string) diagram.Mark {
	return diagram.Mark{
		Lane:  lane,
		At:    at,
		Kind:  diagram.Notice,
		Label: label,
	}
}

// label is why a process takes part; that it was asked is shown by an arrow.
func label(e Event) string {
	if e.Reason == "Asked" {
		return ""
	}
	return e.Reason
}

func (p Picture) arrow(e Event, lane map[string]int) diagram.Arrow {
	a := diagram.Arrow{
		From:     lane[e.Process],
		To:       lane[e.Peer],
		Sent:     float64(e.Step - 1),
		Received: float64(e.Step),
		Label:    e.Kind,
		Unknown:  e.Pair == 0,
	}
	if e.About != e.Process {
		a.Detail = e.About
	}
	if e.Pair > 0 { // of a contradiction, upright
		a.Received = max(float64(p.Events[e.Pair-1].Step-1), a.Sent)
	}
	return a
}

// Title says in a line what came of an election in the group of that name.
func (p Picture) Title(group string) string {
	if p.Coordinator == "" {
		return fmt.Sprintf("An election goes on in %s", group)
	}
	title := fmt.Sprintf("%s was elected in %s", p.Coordinator, group)
	if p.From != "" {
		title += " after " + p.From
	}
	if p.DisplayEpoch != "" {
		title += ", under epoch " + p.DisplayEpoch
	}
	return title
}
