package scenario

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// Result is what came of a scenario.
type Result struct {
	Events       []Event
	Coordinators map[string]string     // whom each live process follows; empty: nobody
	Coordinator  string                // whom all live processes follow, if they agree; else empty
	Messages     map[election.Kind]int // of the election itself, by kind
	Total        int                   // of Messages
	Views        int                   // VIEWs, which belong to no algorithm
	Finished     Time                  // when the last process found its coordinator
}

// endless is how many events are too many: more do not fit into the memory of a small machine.
const endless = 1_000_000

// restless returns when a group that has not come to rest never will: some elections after the last
// fault. A ring's election, and its wait for the outcome, are as long as the ring.
func (s *Scenario) restless() Time {
	last := Time(0)
	for _, f := range s.Faults {
		last = max(last, f.At)
	}
	return last + Time(500+10*len(s.Processes))*T
}

// Play plays a scenario. Messages take one Unit and keep their order, and processing takes no time.
// A ring's links show a failure of the successor (the books' "faulty successors are skipped"): one
// that is down from the start is known, of one that crashes later its predecessor learns T later.
// Nobody is told anything else but by its own failure detector (Detect), which speaks T after the
// crash or the cut. When a cut heals, both ends of each link learn it at once.
//
// It fails if the scenario makes no sense, or if without Until the group does not come to rest.
func Play(s Scenario) (Result, error) {
	if err := s.check(); err != nil {
		return Result{}, err
	}
	p := player{Scenario: s,
		result: Result{Messages: map[election.Kind]int{}, Coordinators: map[string]string{}}}
	if err := p.begin(); err != nil {
		return Result{}, err
	}
	if err := p.run(); err != nil {
		return Result{}, err
	}
	return p.end(), nil
}

type player struct {
	Scenario
	network
	result Result
	ring   bool         // each process depends on its successor
	down   []Time       // since when a process is down
	told   []bool       // told[p·n+q]: p has learnt that q is gone
	asked  []bool       // asked[p·n+q]: p has asked q whom it follows
	cut    []bool       // cut[p·n+q]: p does not reach q
	since  Time         // of the cut
	last   []Time       // last[p·n+q]: when the newest message from p to q arrives
	astray map[int]bool // the messages that are lost because the scenario says so
	paused []*nap       // nil: it is not
}

func (p *player) begin() error {
	n := len(p.Processes)
	p.reset(p.Processes)
	p.down, p.told, p.cut = make([]Time, n), make([]bool, n*n), make([]bool, n*n)
	p.asked = make([]bool, n*n)
	p.last, p.astray, p.paused = make([]Time, n*n), map[int]bool{}, make([]*nap, n)
	p.carry = p.travel
	p.observe = p.record
	if p.Coordinator == "" && !p.Cold {
		p.Coordinator = Highest(p.Processes).Name
	}
	for i := range p.nodes {
		if err := p.boot(int32(i), election.Config{
			Algorithm:   p.Algorithm,
			Roster:      p.Processes,
			Coordinator: p.Coordinator,
		}); err != nil {
			return err
		}
	}
	for _, name := range p.Crashed {
		p.crash(p.places[name])
		p.down[p.places[name]] = -T // long since: the links of a ring show it
	}
	for i := range p.nodes {
		p.open(int32(i))
	}
	p.ring = p.dependent()
	for i, f := range p.Faults {
		t := p.queue.Push(f.At, sim.Faults)
		t.kind, t.sequence = strike, i
	}
	p.lookAround(0)
	if p.Detect {
		p.lookAround(T)
	}
	for _, name := range p.initiators() {
		if err := p.rouse(p.places[name]); err != nil {
			return err
		}
	}
	for _, name := range p.Unhealthy {
		p.withdraw(p.places[name])
	}
	for _, name := range p.initiators() {
		p.initiate(p.places[name])
	}
	return nil
}

// open opens a process's links to all live processes, as they are when a scenario begins. The views
// that it tells then are not part of the scenario.
func (p *player) open(i int32) {
	for q := range p.nodes {
		if m := p.nodes[i].machine; m != nil && int32(q) != i && p.nodes[q].machine != nil {
			m.Step(election.Event{Type: election.PeerUp, Process: p.nodes[q].name})
		}
	}
}

// dependent reports whether a process of this algorithm watches others than the coordinator.
func (p *player) dependent() bool {
	probe := election.Config{
		Algorithm: p.Algorithm,
		Self:      p.Processes[0].Name,
		Roster:    p.Processes,
	}
	m, err := election.New(probe)
	return err == nil && len(m.Watched()) > 0
}

// initiators are those named; of a cold group, if none is, everybody.
func (p *player) initiators() []string {
	if len(p.Initiators) > 0 || !p.Cold {
		return p.Initiators
	}
	return slices.DeleteFunc(namesOf(p.Processes), func(name string) bool {
		return slices.Contains(p.Crashed, name)
	})
}

// rouse gives an initiator that coordinates a new incarnation: it can suspect nobody. That comes
// before anybody sends, or it would not get what is sent to its old incarnation.
func (p *player) rouse(i int32) error {
	v := &p.nodes[i]
	if v.machine.State().Coordinator != v.name {
		return nil
	}
	if err := p.boot(i, election.Config{Algorithm: p.Algorithm, Roster: p.Processes}); err != nil {
		return err
	}
	for q := range int32(len(p.nodes)) {
		p.told[p.pair(i, q)] = false
	}
	p.open(i)
	return nil
}

func (p *player) initiate(i int32) {
	p.glance(i) // a ring knows its successor before it sends
	if p.nodes[i].machine.State().Coordinator != "" {
		p.suspect(i)
		return
	}
	p.note(Starts, i, -1, "")
	p.step(i, election.Event{Type: election.Start})
}

func (p *player) suspect(i int32) {
	c := p.nodes[i].machine.State().Coordinator
	p.note(Suspects, i, p.places[c], "")
	p.step(i, election.Event{Type: election.Suspect, Process: c})
}

func (p *player) run() error {
	end := p.Until
	if end == 0 {
		end = p.restless()
	}
	for p.queue.Len() > 0 && p.queue.Next() <= end {
		if len(p.result.Events) > endless {
			return fmt.Errorf("%d events in %s link delays are more than can be kept: play fewer "+
				"processes, fewer initiators, or until an earlier end", endless, Delays(p.now))
		}
		at, t := p.queue.Pop()
		p.now = at
		p.handle(&t)
	}
	if p.Until == 0 && p.busy() {
		return fmt.Errorf("the group has not come to rest after %s link delays; say until when to play "+
			"(is there a process with a priority above 0?)", Delays(end))
	}
	return nil
}

// busy reports whether something is still to happen. Timers that have been stopped stay in the
// queue and count for nothing.
func (p *player) busy() bool {
	for p.queue.Len() > 0 {
		_, t := p.queue.Pop()
		if t.kind != expire || p.due(&t) {
			return true
		}
	}
	return false
}

func (p *player) handle(t *task) {
	if p.hold(t) {
		return
	}
	switch t.kind {
	case arrive:
		switch {
		case p.nodes[t.to].machine == nil, p.nodes[t.to].incarnation != t.target:
			p.lose(t, p.nodes[t.to].name+" is down")
		case p.cut[p.pair(t.from, t.to)]:
			p.lose(t, "the network is cut")
		case p.astray[t.sequence]:
			p.lose(t, "the network loses it")
		default:
			p.hand(t)
			p.glance(t.to)
		}
	case expire:
		if p.due(t) {
			p.timeout(t)
			p.glance(t.to)
		}
	case strike:
		p.strike(p.Faults[t.sequence])
	case glance:
		if p.nodes[t.to].machine != nil {
			p.glance(t.to)
			if p.Detect && p.now >= T {
				p.detect(t.to, true)
			}
		}
	case answer:
		p.answer(t.to, t.from)
	}
}

func (p *player) pair(a, b int32) int { return int(a)*len(p.nodes) + int(b) }

// record keeps an event, and counts.
func (p *player) record(e Event) {
	p.result.Events = append(p.result.Events, e)
	switch {
	case e.Kind == Sent && e.Message.Kind == election.View:
		p.result.Views++
	case e.Kind == Sent:
		p.result.Messages[e.Message.Kind]++
		p.result.Total++
	case e.Kind == Follows:
		p.result.Finished = e.At
		p.answersAnew(e.Process)
		if p.Detect {
			p.lookLater(p.places[e.Process], T)
		}
	}
}

func (p *player) end() Result {
	r := p.result
	agree, first := true, true
	for i := range p.nodes {
		v := &p.nodes[i]
		if v.machine == nil {
			continue
		}
		c := v.machine.State().Coordinator
		r.Coordinators[v.name] = c
		agree = agree && (first || c == r.Coordinator)
		r.Coordinator, first = c, false
	}
	if !agree {
		r.Coordinator = ""
	}
	return r
}
