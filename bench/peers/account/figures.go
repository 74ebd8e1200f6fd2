package account

import (
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// Figures are how well a system led itself within a span.
type Figures struct {
	Span time.Duration
	// Kills are those of a member that led.
	Kills int
	// Spurious are changes to another leader that no kill caused.
	Spurious int
	// Lapses are how often a member that had not been killed ceased to lead, whoever led next.
	Lapses int
	// Leaderless is for how long nobody led; Unprovoked the part of it that no kill began.
	Leaderless, Unprovoked time.Duration
	// Two is for how long more than one member led.
	Two time.Duration
	// Failovers are the times from a kill until a member led again.
	Failovers Durations
	// Unanswered are kills after which nobody had led again when the span ended.
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
	}
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

// judge goes through the entries.
type judge struct {
	figures Figures
	from    register.Instant
	at      register.Instant // up to where time has been counted
	leads   map[string]bool
	dead    map[string]bool
	last    string           // who has begun to lead last
	struck  bool             // that one was killed since, while it led
	killed  register.Instant // the kill that has left nobody leading; 0: none has
}

func (j *judge) take(e Entry) {
	j.advance(e.At)
	counts := e.At >= j.from
	switch e.Word {
	case said.Names: // whom others name makes nobody a leader
	case Started:
		delete(j.dead, e.Member)
	case Killed:
		j.dead[e.Member] = true
		if j.leads[e.Member] {
			j.kill(e, counts)
		}
	case said.Leads:
		if !j.dead[e.Member] {
			j.lead(e, counts)
		}
	case said.Ceases:
		if j.leads[e.Member] {
			delete(j.leads, e.Member)
			if counts {
				j.figures.Lapses++
			}
		}
	}
}

func (j *judge) kill(e Entry, counts bool) {
	delete(j.leads, e.Member)
	j.struck = j.struck || e.Member == j.last
	if counts {
		j.figures.Kills++
	}
	if counts && len(j.leads) == 0 {
		j.killed = e.At
	}
}

func (j *judge) lead(e Entry, counts bool) {
	if counts && j.last != "" && j.last != e.Member && !j.struck {
		j.figures.Spurious++
	}
	if j.killed != 0 {
		j.figures.Failovers = append(j.figures.Failovers, e.At.Sub(j.killed))
	}
	j.leads[e.Member] = true
	j.last, j.struck, j.killed = e.Member, false, 0
}

// advance counts the time until an instant, in which nothing has changed.
func (j *judge) advance(to register.Instant) {
	passed := to.Sub(j.at)
	if passed <= 0 {
		return
	}
	j.at = to
	switch {
	case len(j.leads) > 1:
		j.figures.Two += passed
	case len(j.leads) == 0:
		j.figures.Leaderless += passed
		if j.killed == 0 {
			j.figures.Unprovoked += passed
		}
	}
}
