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
		from:    from,
		at:      from,
		leads:   map[string]bool{},
		dead:    map[string]bool{},
		stopped: map[string]bool{},
	}
	for _, e := range entries {
		if e.At > to {
			break
		}
		j.advance(e.At)
		j.take(e)
	}
	j.advance(to)
	j.figures.Span = to.Sub(from)
	if j.fault != 0 {
		j.figures.Unanswered++
	}
	return j.figures
}

// aftermath is how long a fault goes on to count after the member that it struck is back. The
// others may be about to elect, or have a higher term.
const aftermath = 2 * time.Second

// judge goes through the entries.
type judge struct {
	figures Figures
	from    register.Instant
	at      register.Instant // up to where time has been counted
	leads   map[string]bool
	dead    map[string]bool
	stopped map[string]bool
	last    string           // who has begun to lead last
	fault   register.Instant // has left nobody leading; 0: none has
	victim  string           // of the last fault that has
	outlast register.Instant // the fault that the victim has led on after; 0: it has not
	back    register.Instant // when the last member that was stopped went on
}

func (j *judge) take(e Entry) {
	counts := e.At >= j.from
	calm := j.fault == 0 && (j.back == 0 || e.At > j.back.Add(aftermath))
	switch e.Word {
	case said.Names: // whom others name makes nobody a leader
	case said.Leads:
		if j.dead[e.Member] || j.stopped[e.Member] {
			return
		}
		if !calm && e.Member != j.victim {
			j.reopen()
		}
		if counts && calm && j.last != "" && j.last != e.Member {
			j.figures.Spurious++
		}
		j.follow(e)
		j.leads[e.Member], j.last = true, e.Member
	case said.Ceases:
		if counts && calm && j.leads[e.Member] && !j.stopped[e.Member] {
			j.figures.Lapses++
		}
		delete(j.leads, e.Member)
		if !calm && e.Member == j.victim {
			j.reopen()
		}
	case Started:
		delete(j.dead, e.Member)
	case Killed:
		led := j.leads[e.Member]
		delete(j.leads, e.Member)
		j.dead[e.Member] = true
		j.strike(e, led)
	case Stopped:
		j.stopped[e.Member] = true
		j.strike(e, j.leads[e.Member])
	case Continued:
		delete(j.stopped, e.Member)
		j.back = e.At
		switch {
		case !j.leads[e.Member] || j.fault == 0:
		case e.Member != j.victim: // another fault had struck it while two led
			j.follow(e)
		default: // nobody has taken over, and it may act
			j.figures.Unanswered++
			j.outlast, j.fault = j.fault, 0
		}
	}
}

// follow: a member leads after the fault, if there was one.
func (j *judge) follow(e Entry) {
	if j.fault != 0 {
		j.figures.Failovers = append(j.figures.Failovers, e.At.Sub(j.fault))
	}
	j.fault, j.outlast = 0, 0
}

// reopen: the fault that the victim had outlasted changes the leader in its aftermath.
func (j *judge) reopen() {
	if j.outlast != 0 && j.fault == 0 {
		j.figures.Unanswered--
		j.fault, j.outlast = j.outlast, 0
	}
}

// strike counts a fault that struck a member, if that led.
func (j *judge) strike(e Entry, led bool) {
	switch {
	case !led:
	case e.At < j.from:
		j.last = "" // the change after it does not count
	default:
		j.figures.Strikes++
		if j.acting() == 0 {
			j.fault, j.victim, j.outlast = e.At, e.Member, 0
		}
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
		if j.fault == 0 {
			j.figures.Unprovoked += passed
		}
	}
}
