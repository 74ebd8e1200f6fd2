package account

import (
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

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
		hit:     map[string]bool{},
	}
	for _, e := range entries {
		if e.At > to {
			break
		}
		j.take(e)
	}
	j.settle(to)
	j.advance(to)
	if j.blow.at != 0 {
		j.outlast()
	}
	return j.figures
}

// aftermath is how long a fault goes on to count after the member that it struck is back, and leads
// still, or again: the others may be about to elect, or have a higher term.
const aftermath = 2 * time.Second

// judge goes through the entries.
type judge struct {
	figures Figures
	from    register.Instant
	at      register.Instant // up to where time has been counted
	leads   map[string]bool
	dead    map[string]bool
	stopped map[string]bool
	hit     map[string]bool // those that lead and that a fault has struck since they began to
	last    string          // who has begun to lead last
	struck  bool            // a fault has struck that one since, while it led
	blow    blow            // that has left nobody leading; zero: none has
}

// blow is a fault that has left nobody leading, until it is known what comes of it.
type blow struct {
	at     register.Instant
	victim string
	back   register.Instant // when the victim was; 0: it is not, or the fault has ended it
	// leads: the victim was leading when it was back, or has led again since, and leads now. It led
	// again first after regained; 0: it has not.
	leads    bool
	regained time.Duration
}

func (j *judge) take(e Entry) {
	j.settle(e.At)
	j.advance(e.At)
	switch e.Word {
	case said.Names: // whom others name makes nobody a leader
	case said.Leads:
		if !j.dead[e.Member] && !j.stopped[e.Member] {
			j.lead(e)
		}
	case said.Ceases:
		j.cease(e)
	case Started:
		delete(j.dead, e.Member)
	case Killed:
		j.dead[e.Member] = true
		leads := j.leads[e.Member]
		delete(j.leads, e.Member)
		delete(j.hit, e.Member)
		j.strike(e, leads)
	case Stopped:
		j.stopped[e.Member] = true
		j.strike(e, j.leads[e.Member])
	case Continued:
		delete(j.stopped, e.Member)
		j.goOn(e)
	}
}

// strike counts a fault that struck a member, if that led.
func (j *judge) strike(e Entry, leads bool) {
	if !leads {
		return
	}
	if j.blow.leads {
		j.outlast() // the fault before this one
	}
	j.hit[e.Member] = j.leads[e.Member]
	j.struck = j.struck || e.Member == j.last
	if e.At >= j.from {
		j.figures.Strikes++
		if j.acting() == 0 {
			j.blow = blow{at: e.At, victim: e.Member}
		}
	}
	j.adopt()
}

// goOn: a member that was stopped is back. If it leads still, and nobody has taken over, the fault
// may come to nothing: that shows in its aftermath.
func (j *judge) goOn(e Entry) {
	switch {
	case j.blow.at == 0:
	case e.Member == j.blow.victim:
		j.blow.back, j.blow.leads = e.At, j.leads[e.Member]
	case j.leads[e.Member]: // an earlier fault had struck it while two led
		j.follow(e)
	}
	j.adopt()
}

// settle: if the aftermath of a fault is over at an instant, the fault has come to nothing.
func (j *judge) settle(at register.Instant) {
	if j.blow.leads && at >= j.blow.back.Add(aftermath) {
		j.outlast()
	}
}

// outlast: a fault has come to nothing. The member that it struck has outlasted it, or has its lead
// back, or the span has ended before anything came of it.
func (j *judge) outlast() {
	if j.blow.regained > 0 {
		j.figures.Failovers = append(j.figures.Failovers, j.blow.regained)
	} else {
		j.figures.Unanswered++
	}
	delete(j.hit, j.blow.victim)
	j.struck, j.blow = false, blow{}
}

func (j *judge) cease(e Entry) {
	if !j.leads[e.Member] {
		return
	}
	if e.At >= j.from && !j.hit[e.Member] {
		j.figures.Lapses++
	}
	delete(j.leads, e.Member)
	delete(j.hit, e.Member)
	if e.Member == j.blow.victim { // the fault goes on without it
		j.blow.leads = false
	}
	j.adopt()
}

// adopt: where two members led, and only one of them acts now, that one is the leader from now on,
// though it was not the last to begin: a fault that strikes it causes a change, and another one
// does not.
func (j *judge) adopt() {
	if j.acting() != 1 {
		return
	}
	for member := range j.leads {
		if !j.stopped[member] && member != j.last {
			j.last, j.struck = member, false
			delete(j.hit, member)
		}
	}
}

func (j *judge) lead(e Entry) {
	if e.At >= j.from && j.last != "" && j.last != e.Member && !j.struck {
		j.figures.Spurious++
	}
	j.leads[e.Member] = true
	if j.blow.back != 0 && e.Member == j.blow.victim && e.At < j.blow.back.Add(aftermath) {
		j.regain(e)
		return
	}
	j.follow(e)
	j.last, j.struck = e.Member, false
}

// follow: a member leads after the fault, if there was one.
func (j *judge) follow(e Entry) {
	if j.blow.at != 0 {
		j.figures.Failovers = append(j.figures.Failovers, e.At.Sub(j.blow.at))
		j.blow = blow{}
	}
}

// regain: the member that a fault has struck is back, and leads again. Whether that lasts shows in
// the aftermath, as for one that has never ceased.
func (j *judge) regain(e Entry) {
	j.hit[e.Member] = true
	j.last, j.struck, j.blow.leads = e.Member, true, true
	if j.blow.regained == 0 {
		j.blow.regained = e.At.Sub(j.blow.at)
	}
}

// acting is how many may act as the leader. One that is stopped leads, and does nothing.
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
	passed := to.Sub(j.at)
	if passed <= 0 {
		return
	}
	j.at = to
	switch acting := j.acting(); {
	case acting > 1:
		j.figures.Two += passed
	case acting == 0:
		j.figures.Leaderless += passed
		if j.blow.at == 0 {
			j.figures.Unprovoked += passed
		}
	}
}
