// Package timeline says what a fault did to a group, from what was seen after it. It is pure.
package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/register"
)

// Holder is whom something names; nobody, if it names no process.
type Holder = report.Holder

// Step is from when on something named whom.
type Step struct {
	At register.Instant
	Holder
}

// Note adds a step, if it is one.
func Note(steps []Step, at register.Instant, h Holder) []Step {
	if n := len(steps); n > 0 && steps[n-1].Holder == h {
		return steps
	}
	return append(steps, Step{At: at, Holder: h})
}

// Reversals are the steps to a lower epoch than one that was named before, which must not be:
// whoever reads them may take an old coordinator for the new one.
func Reversals(steps []Step) (all []string) {
	highest := Holder{}
	for _, s := range steps {
		switch {
		case s.Epoch == 0: // it names nobody
		case s.Epoch < highest.Epoch:
			all = append(all, fmt.Sprintf("the status named %s under %v after %s under %v", s.Process,
				lease.Epoch(s.Epoch), highest.Process, lease.Epoch(highest.Epoch)))
		default:
			highest = s.Holder
		}
	}
	return all
}

// Line is what was seen of a group, each part in its order.
type Line struct {
	Taken []register.Entry // writes
	Named []Step           // by its status
	Led   []Step           // by its Service; no epochs
}

// Span is the time that is looked at for a fault: from its strike until everything was well again.
type Span struct{ From, To register.Instant }

// Proven reports whether a write shows that its process was permitted to act after an instant, and
// not merely before it. In Guarded groups a deadline tells when a majority promised it, at the
// earliest; in Classic groups what the app was told last must do.
func Proven(e register.Entry, after register.Instant, longest time.Duration) bool {
	if e.Deadline != 0 {
		return e.Deadline > after.Add(lease.Window(longest))
	}
	return e.Heard > after || e.Session && e.Checked > after
}

// Last is who acted last before an instant.
func (l *Line) Last(before register.Instant) (h Holder) {
	for _, e := range slices.Backward(l.Taken) {
		if e.At < before {
			return holder(e)
		}
	}
	return Holder{}
}

func holder(e register.Entry) Holder { return Holder{Process: e.Process, Epoch: e.Epoch} }

// After says who was permitted to act first after a strike, and when; false if nobody was. If the
// one before was asked to go, and not stopped, it may act for a while: then it is who comes next,
// if anybody does.
func (l *Line) After(
	s Span, before Holder, asked bool, longest time.Duration,
) (first Holder, at register.Instant, ok bool) {
	for _, e := range l.Taken {
		if e.At <= s.From || e.At > s.To || !Proven(e, s.From, longest) {
			continue
		}
		h := holder(e)
		if !ok || asked && first == before && h != before {
			first, at, ok = h, e.At, true
		}
	}
	return first, at, ok
}

// Times tells how long it took after a strike until the first write, and, if it was another's than
// before, until status and Service had left the one before for somebody.
func (l *Line) Times(s Span, before, first Holder, at register.Instant) report.Times {
	t := report.Times{Acts: since(s.From, at)}
	if first != before {
		t.Status = left(l.Named, s, before)
	}
	if first.Process != before.Process {
		t.Service = left(l.Led, s, Holder{Process: before.Process})
	}
	return t
}

// left is how long it took until a step named somebody else than before.
func left(steps []Step, s Span, before Holder) *float64 {
	for _, step := range steps {
		if step.At > s.From && step.At <= s.To && step.Process != "" && step.Holder != before {
			return since(s.From, step.At)
		}
	}
	return nil
}

func since(from, to register.Instant) *float64 {
	ms := float64(to.Sub(from)) / float64(time.Millisecond)
	return &ms
}
