package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// Faults that the books do not speak of, or assume away.
const (
	// OneWay cuts the links from the processes of the first side to those of the second. It adds to a
	// cut; Heal ends it.
	OneWay FaultKind = "OneWay"
	// Misjudge makes the first process hold the others for gone, as if its links to them had been
	// refused.
	Misjudge FaultKind = "Misjudge"
	// Relink lets the first process learn that it can reach the others.
	Relink FaultKind = "Relink"
	// Pause stops processes with all they were about to do; Resume lets them go on, and a quarter of a
	// Unit later they read their mail and find out which timers have run out.
	Pause  FaultKind = "Pause"
	Resume FaultKind = "Resume"
	// Unhealthy fails the apps of processes: their control parts go on. Healthy ends it.
	Unhealthy FaultKind = "Unhealthy"
	Healthy   FaultKind = "Healthy"
)

// Carry says how long a message takes, or that it is lost. Messages of a link that would overtake
// arrive with the one before. It must give the same answers for the same questions.
type Carry func(from, to string, m election.Message, sequence int) (takes Time, lost bool)

// checkMishap says what is wrong with a fault of this file.
func (f *Fault) checkMishap() error {
	switch f.Kind {
	case OneWay:
		if len(f.Processes) > 0 || len(f.Sides) != 2 {
			return fmt.Errorf("%s at %s names two sides, and no processes", f.Kind, Delays(f.At))
		}
	case Misjudge, Relink:
		if len(f.Processes) < 2 || len(f.Sides) > 0 {
			return fmt.Errorf("%s at %s names the process that errs or learns, and those that it is about",
				f.Kind, Delays(f.At))
		}
	case Pause, Resume, Unhealthy, Healthy:
		if len(f.Processes) == 0 || len(f.Sides) > 0 {
			return fmt.Errorf("%s at %s names processes, and no sides", f.Kind, Delays(f.At))
		}
	default:
		all := []FaultKind{Crash, Recover, Cut, Heal, OneWay, Misjudge, Relink, Pause, Resume, Unhealthy,
			Healthy}
		return fmt.Errorf("no fault %q; there are %v", f.Kind, all)
	}
	return nil
}

// mishap lets a fault of this file happen.
func (p *player) mishap(f Fault) {
	if f.Kind == OneWay {
		p.note(WasCut, -1, -1,
			strings.Join(f.Sides[0], " ")+" does not reach "+strings.Join(f.Sides[1], " "))
		p.since = p.now
		for _, a := range f.Sides[0] {
			for _, b := range f.Sides[1] {
				p.cut[p.pair(p.places[a], p.places[b])] = true
			}
		}
		return
	}
	if f.Kind == Misjudge {
		p.misjudge(p.places[f.Processes[0]], f.Processes[1:])
		return
	}
	if f.Kind == Relink {
		for _, name := range f.Processes[1:] {
			p.linkUp(p.places[f.Processes[0]], p.places[name])
		}
		return
	}
	for _, name := range f.Processes {
		i := p.places[name]
		switch {
		case p.nodes[i].machine == nil:
		case f.Kind == Pause:
			p.note(Paused, i, -1, "")
			p.paused[i] = &nap{since: p.now}
		case f.Kind == Resume && p.paused[i] != nil:
			p.resume(i)
		case f.Kind == Unhealthy:
			p.withdraw(i)
		case f.Kind == Healthy:
			p.note(Restored, i, -1, "")
			p.step(i, election.Event{Type: election.Restore})
		}
	}
}

// withdraw fails the app of a process. Its control part goes on: if it coordinates, it calls an
// election, and in a ring it forwards (000).
func (p *player) withdraw(i int32) {
	p.note(Withdraws, i, -1, "")
	p.step(i, election.Event{Type: election.Withdraw})
}

func (p *player) misjudge(i int32, gone []string) {
	if p.nodes[i].machine == nil {
		return
	}
	for _, name := range gone {
		q := p.places[name]
		p.told[p.pair(i, q)] = true
		p.note(LinkDown, i, q, "")
		p.step(i, election.Event{Type: election.PeerDown, Process: name})
	}
	if c := p.nodes[i].machine.State().Coordinator; slices.Contains(gone, c) {
		p.suspect(i)
	}
}

// nap is a pause, with what waits for its end.
type nap struct {
	since Time
	held  []task
}

// hold keeps back what would reach a paused process.
func (p *player) hold(t *task) bool {
	if t.kind == strike || p.paused[t.to] == nil || p.nodes[t.to].machine == nil {
		return false
	}
	p.paused[t.to].held = append(p.paused[t.to].held, *t)
	return true
}

func (p *player) resume(i int32) {
	held := p.paused[i].held
	p.paused[i] = nil
	p.note(Resumed, i, -1, "")
	for _, t := range held {
		*p.queue.Push(p.now+Unit/4, sim.Arrivals) = t
	}
	for q := range int32(len(p.nodes)) { // those who held it for gone find that it answers
		if p.told[p.pair(q, i)] && !p.cut[p.pair(q, i)] {
			p.linkUp(q, i)
		}
	}
}

// travel lets a message arrive when the scenario says.
func (p *player) travel(from, to int32, e *election.Envelope, sequence int) {
	takes, lost := Unit, false
	if p.Carry != nil {
		takes, lost = p.Carry(p.nodes[from].name, p.nodes[to].name, e.Message, sequence)
	}
	at := max(p.now+max(takes, 1), p.last[p.pair(from, to)])
	p.last[p.pair(from, to)] = at
	p.post(at, from, to, &e.Message, sequence)
	if lost {
		p.astray[sequence] = true
	}
}
