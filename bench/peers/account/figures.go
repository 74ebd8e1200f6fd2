package account

import (
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// Figures are how well a system led itself within a span.
type Figures struct {
	Span time.Duration
	// Strikes are the faults that struck a member that led.
	Strikes int
	// Spurious are the changes to another leader that no fault caused, by when they were.
	Spurious Durations
	// Lapses are how often a member that no fault had struck ceased to lead, whoever led next.
	Lapses int
	// Leaderless is for how long nobody led whom others reach; Unprovoked the part of it that no fault
	// began.
	Leaderless, Unprovoked time.Duration
	// Minutes are for how long nobody led in each minute; the last one may be shorter.
	Minutes Durations
	// Two is for how long more than one member led.
	Two time.Duration
	// Failovers are the times from a fault until a member led again.
	Failovers Durations
	// ByFault are the same by the fault, of those that have a name.
	ByFault map[string]Durations
	// Unanswered are faults after which nobody had led anew when the span ended, and those whose
	// member led still when they ended.
	Unanswered int
}

// Judge works out the figures between two instants, from entries in the order of their instants.
// What was before the first instant only says who led then.
func Judge(entries []Entry, from, to register.Instant) Figures {
	j := judge{
		figures: Figures{Span: to.Sub(from)},
		from:    from,
		at:      from,
		leads:   map[string]bool{},
		dead:    map[string]bool{},
		stopped: map[string]bool{},
		cut:     map[string]bool{},
		hit:     map[string]bool{},
		by:      map[string]string{},
	}
	j.figures.Minutes = make(Durations, (to.Sub(from)+time.Minute-1)/time.Minute)
	for _, e := range entries {
		if e.At > to {
			break
		}
		j.take(e)
	}
	j.advance(to)
	if j.killed != 0 {
		j.figures.Unanswered++
	}
	return j.figures
}

// add adds how long it took until a member led again after a fault.
func (f *Figures) add(fault string, took time.Duration) {
	f.Failovers = append(f.Failovers, took)
	if fault == "" {
		return
	}
	if f.ByFault == nil {
		f.ByFault = map[string]Durations{}
	}
	f.ByFault[fault] = append(f.ByFault[fault], took)
}

// aftermath is how long a fault goes on to count after the member that it struck is back, and leads
// still: the others may be about to elect, or have a higher term.
const aftermath = 2 * time.Second

// judge goes through the entries.
type judge struct {
	figures Figures
	from    register.Instant
	at      register.Instant // up to where time has been counted
	leads   map[string]bool
	dead    map[string]bool
	stopped map[string]bool
	cut     map[string]bool
	hit     map[string]bool   // those that lead and that a fault has struck since they began to
	by      map[string]string // the fault that has struck a member last
	last    string            // who has begun to lead last
	struck  bool              // a fault has struck that one since, while it led
	killed  register.Instant  // the fault that has left nobody leading; 0: none has
	fault   string            // and its name
	back    Entry             // of the member that it struck, which leads still; At 0: none does
}

func (j *judge) take(e Entry) {
	if j.back.At != 0 && e.At >= j.back.At.Add(aftermath) {
		j.outlast()
	}
	j.advance(e.At)
	counts := e.At >= j.from
	if e.Fault != "" {
		j.by[e.Member] = e.Fault
	}
	switch e.Word {
	case said.Names: // whom others name makes nobody a leader
	case said.Leads:
		if !j.dead[e.Member] && !j.stopped[e.Member] {
			j.lead(e, counts)
		}
	case said.Ceases:
		j.cease(e, counts)
	case Started:
		delete(j.dead, e.Member)
	case Killed:
		j.dead[e.Member] = true
		leads := j.leads[e.Member]
		delete(j.leads, e.Member)
		delete(j.hit, e.Member)
		j.strike(e, leads, counts)
	case Stopped:
		j.stopped[e.Member] = true
		j.strike(e, j.leads[e.Member], counts)
	case Cut:
		j.cut[e.Member] = true
		j.strike(e, j.leads[e.Member], counts)
	case Continued:
		delete(j.stopped, e.Member)
		j.goOn(e)
	case Mended:
		delete(j.cut, e.Member)
		j.goOn(e)
	}
}

// strike counts a fault that struck a member, if that led.
func (j *judge) strike(e Entry, leads, counts bool) {
	if !leads {
		return
	}
	if j.back.At != 0 {
		j.outlast() // the fault before this one
	}
	j.hit[e.Member] = j.leads[e.Member]
	j.struck = j.struck || e.Member == j.last
	if counts {
		j.figures.Strikes++
	}
	if counts && j.reached() == 0 {
		j.killed, j.fault = e.At, j.by[e.Member]
	}
	j.adopt()
}

// goOn: a member that was stopped, or cut off, is back. If it leads still, and nobody has taken
// over, the fault may come to nothing: that shows in its aftermath.
func (j *judge) goOn(e Entry) {
	if j.leads[e.Member] && j.killed != 0 {
		j.back = e
	}
	j.adopt()
}

// outlast: a fault has come to nothing. The member that leads has outlasted it.
func (j *judge) outlast() {
	j.figures.Unanswered++
	j.killed, j.struck = 0, false
	delete(j.hit, j.back.Member)
	j.back = Entry{}
}

func (j *judge) cease(e Entry, counts bool) {
	if !j.leads[e.Member] {
		return
	}
	if counts && !j.hit[e.Member] {
		j.figures.Lapses++
	}
	delete(j.leads, e.Member)
	delete(j.hit, e.Member)
	if e.Member == j.back.Member {
		j.back = Entry{} // the fault goes on without it
	}
	j.adopt()
}

// adopt: where two members led, and others reach only one of them now, that one is the leader from
// now on, though it was not the last to begin: a fault that strikes it causes a change, and another
// one does not.
func (j *judge) adopt() {
	if j.reached() != 1 {
		return
	}
	for member := range j.leads {
		if !j.stopped[member] && !j.cut[member] && member != j.last {
			j.last, j.struck = member, false
			delete(j.hit, member)
		}
	}
}

func (j *judge) lead(e Entry, counts bool) {
	if j.cut[e.Member] {
		j.leadUnreached(e, counts)
		return
	}
	if counts && j.last != "" && j.last != e.Member && !j.struck {
		j.figures.Spurious = append(j.figures.Spurious, e.At.Sub(j.from))
	}
	if j.killed != 0 {
		j.figures.add(j.fault, e.At.Sub(j.killed))
	}
	j.leads[e.Member] = true
	j.last, j.struck, j.killed, j.back = e.Member, false, 0, Entry{}
}

// leadUnreached: a member that is cut off leads, or leads again. The fault is not over by that, and
// nobody has taken over. If the cut has found it between two permissions, it has struck it now.
func (j *judge) leadUnreached(e Entry, counts bool) {
	j.leads[e.Member] = true
	if e.Member == j.last && !j.struck {
		j.strike(e, true, counts)
	}
	j.hit[e.Member] = true
}

// reached is how many lead whom others reach.
func (j *judge) reached() (n int) {
	for member := range j.leads {
		if !j.stopped[member] && !j.cut[member] {
			n++
		}
	}
	return n
}

// acting is how many may act as the leader.
func (j *judge) acting() (n int) {
	for member := range j.leads {
		if !j.stopped[member] {
			n++
		}
	}
	return n
}

// advance counts the time until an instant, in which nothing has changed.
func (j *judge) advance(to register.Instant) {
	since, passed := j.at, to.Sub(j.at)
	if passed <= 0 {
		return
	}
	j.at = to
	if j.acting() > 1 {
		j.figures.Two += passed
	}
	if j.reached() > 0 {
		return
	}
	j.figures.Leaderless += passed
	if j.killed == 0 {
		j.figures.Unprovoked += passed
	}
	for at := since.Sub(j.from); passed > 0; {
		part := min(passed, time.Minute-at%time.Minute)
		j.figures.Minutes[at/time.Minute] += part
		at, passed = at+part, passed-part
	}
}
