package membership

import (
	"slices"
	"time"
)

// MC1: One roster at a time. A roster is persisted in the group's status, on top of the very state
// that was read, before any agent is told; of two managers one gets a conflict. Generations only
// grow: the next is max(last + 1, seconds since 2026-01-01), so that a group that is made again, or
// restored from a backup, does not go back. The seconds are the API server's: a manager whose clock
// is ahead would make generations that others take for lies (MC10), and one whose clock is behind
// might make one twice. Two rosters of one generation tell the agents the same.
//
// Generations must not run far ahead of the seconds: a group that is made again would begin below
// the old epochs. So rosters are paced. There may be 60 at once, and one a second on average. One
// that comes too early is put off, and then tells what is so by then. Three kinds never wait, but
// they count, so that later ones wait for longer. By the first a process departs that is on the
// last roster (MC8). By the second a process begins to stand aside (MC12). The third restores what
// the status has lost (MC10).

const (
	// paceBurst is how many rosters there may be at once, and pace how long each counts.
	paceBurst = 60
	pace      = time.Second
)

// GenerationsBegin is the date since which a generation counts seconds, at least (MC1).
var GenerationsBegin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// paced is what a manager carries from pass to pass to pace the rosters of a group.
type paced struct {
	counted   int64     // the generation of the newest roster that was counted
	until     time.Time // when all that were counted will have been paid for
	proposed  int64     // the generation of the roster that was to be persisted last
	departing []string  // UIDs of the pods that depart by that one
}

// count counts the newest roster, if it is another one than before. The first roster that a manager
// sees does not count: another manager has made it.
func (p paced) count(newest *Roster, now time.Time) paced {
	if g := generationOf(newest); g != p.counted {
		if p.counted != 0 {
			if p.until.Before(now) {
				p.until = now
			}
			p.until = p.until.Add(pace)
		}
		p.counted = g
	}
	return p
}

// wait returns for how long the next roster is put off.
func (p paced) wait(last, next *Roster, now time.Time) time.Duration {
	if last == nil || next.Generation == last.Generation || p.urgent(last, next) {
		return 0
	}
	return max(p.until.Add(-(paceBurst-1)*pace).Sub(now), 0)
}

// urgent reports whether a roster takes priority from a process: one departs that is on the last
// roster, which does not say so, or one begins to stand aside.
func (p paced) urgent(last, next *Roster) bool {
	if next.StepDown.stands() && !last.StepDown.stands() {
		return true
	}
	for i := range next.Members {
		m := &next.Members[i]
		told := p.proposed == p.counted && slices.Contains(p.departing, m.UID)
		if m.Departing && !told && last.member(m.UID) != nil {
			return true
		}
	}
	return false
}

// propose notes what a roster says that is to be persisted.
func (p paced) propose(r *Roster) paced {
	p.proposed, p.departing = r.Generation, nil
	for i := range r.Members {
		if r.Members[i].Departing {
			p.departing = append(p.departing, r.Members[i].UID)
		}
	}
	return p
}

// NextGeneration returns the generation that follows the last one (MC1). Without a last one it is
// above what agents report, too, as far as that can be true: they may use a roster that was ahead
// of the clock. Date is what the API server's clock shows.
func NextGeneration(last *Roster, reports []Report, date time.Time) int64 {
	seconds := max(int64(date.Sub(GenerationsBegin)/time.Second), 1)
	if last != nil {
		return max(last.Generation+1, seconds)
	}
	const hour = 60 * 60
	next := seconds
	for i := range reports {
		if g := reports[i].Generation; g < seconds+hour {
			next = max(next, g+1)
		}
	}
	return next
}
