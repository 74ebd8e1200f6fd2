// Package drawing draws what package trace tells of an election. It is apart because the agent
// links package trace, and draws nothing.
package drawing

import (
	"github.com/podesta-dev/podesta/internal/diagram"
	"github.com/podesta-dev/podesta/internal/trace"
)

// axis and key are what a drawing says of itself: it has no clock.
const (
	axis = "to the right: later on the same line, or along an arrow; the order of anything else is " +
		"not known"
	key = "thick line: coordinator   ·   dotted line: no account   ·   ?: no receipt is told"
)

// Of returns the space–time diagram of a picture, with a title. A column is no time: an event is to
// the right of those that are known to have happened before it, and what is in one column may have
// happened in any order.
func Of(p trace.Picture, title string) diagram.Diagram {
	d := diagram.Diagram{
		Title:     title,
		Axis:      axis,
		Key:       key,
		Silent:    map[int]bool{},
		NoFigures: true,
	}
	lane := map[string]int{}
	for i, q := range p.Processes {
		lane[q.Name] = i
		d.Lanes = append(d.Lanes, q.Name)
		d.Silent[i] = !q.Account
	}
	at := func(e trace.Event) float64 { return float64(e.Step - 1) }
	mark := func(lane int, at float64, kind diagram.Kind, label string) {
		d.Marks = append(d.Marks, diagram.Mark{Lane: lane, At: at, Kind: kind, Label: label})
	}
	last := 0.0
	for _, e := range p.Events {
		last = max(last, at(e)+1)
		switch e.What {
		case trace.TakesPart:
			mark(lane[e.Process], at(e), diagram.Notice, label(e))
		case trace.Follows:
			if e.Peer == e.Process {
				mark(lane[e.Process], at(e), diagram.Coordinate, "")
			} else {
				mark(lane[e.Process], at(e), diagram.Notice, "follows "+e.Peer)
			}
		case trace.Sends:
			d.Arrows = append(d.Arrows, arrow(p, e, lane))
		}
	}
	if len(p.Events) == 0 { // of an election that no agent tells of, its result is known
		last = 2
		if p.Coordinator != "" {
			mark(lane[p.Coordinator], 1, diagram.Coordinate, "was elected")
		}
		if p.Initiator != "" {
			mark(lane[p.Initiator], 0, diagram.Notice, "called it: "+p.Reason)
		}
	}
	d.End = last
	return d
}

// label is why a process takes part; that it was asked is shown by an arrow.
func label(e trace.Event) string {
	if e.Reason == "Asked" {
		return ""
	}
	return e.Reason
}

func arrow(p trace.Picture, e trace.Event, lane map[string]int) diagram.Arrow {
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
