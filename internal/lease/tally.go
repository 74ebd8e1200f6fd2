package lease

import (
	"slices"
	"time"
)

// tally is an epoch that voters are asked to promise.
type tally struct {
	epoch    Epoch
	lease    time.Duration
	roster   *Roster
	since    Instant
	promised []Instant // by place on the roster: until when this process relies on the promise; 0: there is none
	denied   []bool    // by place on the roster
	highest  []int64   // ballots that those who denied have promised; 0: they denied for another reason
	rounds   [32]round // the newest rounds, to know when a response's claim was sent
	best     []Instant // scratch
}

// round is when a round of claims was sent.
type round struct {
	number uint64
	sent   Instant
}

// deadline is LH2: the majority-th best of the promises.
func (c *tally) deadline() Instant {
	c.best = c.best[:0]
	for _, until := range c.promised {
		if until > 0 {
			c.best = append(c.best, until)
		}
	}
	majority := c.roster.majority()
	if len(c.best) < majority {
		return 0
	}
	slices.Sort(c.best)
	return c.best[len(c.best)-majority]
}

// take is LH1: a promise counts from the instant at which the claim was sent that it answers.
func (c *tally) take(from Incarnation, v Response) {
	i := c.roster.place(from)
	r := c.rounds[v.Round%uint64(len(c.rounds))]
	if i < 0 || !c.roster.Members[i].Voter || r.number != v.Round {
		return
	}
	c.denied[i], c.highest[i] = !v.Granted, 0
	switch {
	case v.Granted:
		c.promised[i] = max(c.promised[i], r.sent+Window(c.lease))
	case v.Generation == c.epoch.Generation() && v.Highest >= c.epoch: // else it has a newer roster: no ballot helps
		c.highest[i] = v.Highest.Ballot()
	}
}

// outbid is the ballot with which the holder gets back a voter that has promised a higher one since (LH9); 0 if there is none.
func (c *tally) outbid() int64 {
	best := int64(0)
	for _, b := range c.highest {
		if b > best && b < c.epoch.Ballot()+ahead {
			best = b
		}
	}
	if best == 0 {
		return 0
	}
	return best + 1
}

// refused reports whether so many have denied that no majority is left; outbid counts only those who have promised a higher
// ballot: the others may have yet to get the roster.
func (c *tally) refused(outbid bool) bool {
	denied := 0
	for i := range c.denied {
		if c.denied[i] && (!outbid || c.highest[i] > 0) {
			denied++
		}
	}
	return denied > c.roster.voters()-c.roster.majority()
}

// ballot is the next one to be tried (C3): one above the smallest of which a majority can have promised no higher.
func (c *tally) ballot() int64 {
	ballots := slices.Clone(c.highest)
	for i, q := range c.roster.Members {
		if !q.Voter {
			ballots[i] = MaxBallot
		}
	}
	slices.Sort(ballots)
	return max(ballots[c.roster.majority()-1], c.epoch.Ballot()) + 1
}
