package lease

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// LH1. The promise of a voter counts from the instant at which the request was sent that it
// answers, for the window: L·(1−ρ)/(1+ρ). Only responses about the present epoch count, and only
// those of voters of the epoch's roster with the state directory that this roster names.

// tally counts the votes for one epoch. Slices are indexed as the roster's members.
type tally struct {
	epoch    Epoch
	roster   *Roster
	since    Instant
	promised []Instant // until when this process relies on each promise; 0: not promised
	asked    []Instant // when the newest request was sent that each has granted; 0: none
	denied   []bool    // whose last response was a denial
	support  []bool    // who would have promised, by the pre-vote
	highest  []int64   // the ballot that each denial was for; 0: denied for another reason
	bound    []bool    // who is bound to somebody else still, by its last response (LH9)
	rival    Member    // the highest process that a voter was bound to when it denied
	rounds   [32]round // the newest rounds, to know when the request of a response was sent
	deadline Instant   // until when a majority has promised the epoch (LH2); 0 if none has
	renewed  Instant   // when the newest request was sent that a majority has granted; 0: none
}

// round is when a round of requests was sent, and for which lease.
type round struct {
	number uint64
	sent   Instant
	lease  time.Duration
	late   time.Duration // by how much it was sent late
}

// round returns where the round of a number is noted, unless 32 have followed it.
func (t *tally) round(number uint64) *round { return &t.rounds[number%uint64(len(t.rounds))] }

// newTally returns a tally without votes.
func newTally(e Epoch, r *Roster, now Instant) *tally {
	n := len(r.Members)
	return &tally{
		epoch:    e,
		roster:   r,
		since:    now,
		promised: make([]Instant, n),
		asked:    make([]Instant, n),
		denied:   make([]bool, n),
		support:  make([]bool, n),
		highest:  make([]int64, n),
		bound:    make([]bool, n),
	}
}

// ofMajority returns the latest instant that a majority of the voters has reached, each by its own
// instant; known, if that is none later. It is asked after each response, so known is what it
// returned before that one, and no more than a majority has got further since.
func (t *tally) ofMajority(instants []Instant, known Instant) Instant {
	later, earliest := 0, Instant(math.MaxInt64)
	for _, at := range instants {
		if at > known {
			later, earliest = later+1, min(earliest, at)
		}
	}
	if later < t.roster.majority() {
		return known
	}
	return earliest
}

// measures reports whether the gaps of this tally say something of the voters of the next roster
// (LH10): they are voters of its own roster, and those that the next one lacks do not count any
// more.
func (t *tally) measures(next *Roster, now Instant) bool {
	for i, q := range t.roster.Members {
		if q.Voter && t.promised[i] > now && !next.hasVoter(q) {
			return false
		}
	}
	for _, q := range next.Members {
		if q.Voter && !t.roster.hasVoter(q) {
			return false
		}
	}
	return true
}

// mayHaveRival reports whether another process that may coordinate has answered within the last
// lease or may have done so unheard, because this process stood still or asks it for nothing (LH4).
func (t *tally) mayHaveRival(self string, now Instant) bool {
	stoodStill := true
	for i, q := range t.roster.Members {
		switch {
		case q.Name == self:
			stoodStill = q.Voter && t.promised[i] <= now
		case q.Priority > 0 && (!q.Voter || t.denied[i] || t.promised[i] > now):
			return true
		}
	}
	return stoodStill
}

// count takes a response into account (LH1). If the response completes a majority for a newer
// renewal, it returns the gap (LH10): the time since the newest renewal that a majority had granted
// before. Otherwise it returns 0. Elsewhere is whether the voter is bound to somebody else.
func (t *tally) count(
	from Incarnation, v Response, elsewhere bool, now Instant,
) (gap time.Duration) {
	i := t.roster.indexOf(from)
	r := t.round(v.Round)
	if i < 0 || !t.roster.Members[i].Voter || r.number != v.Round {
		return 0
	}
	t.denied[i], t.highest[i] = !v.Granted, 0
	t.bound[i] = elsewhere
	if !v.Granted {
		t.noteRival(v.Holder)
	}
	switch {
	case v.Granted:
		t.promised[i] = max(t.promised[i], r.sent+Window(r.lease))
		t.deadline = t.ofMajority(t.promised, t.deadline)
		t.asked[i] = max(t.asked[i], r.sent)
		if at := t.ofMajority(t.asked, t.renewed); at > t.renewed {
			if t.renewed > 0 {
				gap = now - t.renewed
			}
			t.renewed = at
		}
	case v.Generation == t.epoch.Generation() && v.Highest >= t.epoch:
		// With any other generation the voter denies for its roster, and no ballot helps.
		t.highest[i] = v.Highest.Ballot()
	}
	return gap
}

// noteRival notes a process that a voter is bound to, if it is the highest so far (C6).
func (t *tally) noteRival(name string) {
	if q, ok := t.roster.find(name); ok && q.outranks(t.rival) {
		t.rival = q
	}
}

// newestVote is the VOTE of the newest round.
func (t *tally) newestVote() Request {
	newest := slices.MaxFunc(t.rounds[:], func(a, b round) int {
		return cmp.Compare(a.number, b.number)
	})
	return Request{
		Kind:  Vote,
		Epoch: t.epoch,
		Round: newest.number,
		Lease: newest.lease,
	}
}

// lacks reports whether a process is a voter that has not promised the epoch.
func (t *tally) lacks(name string) bool {
	for i, q := range t.roster.Members {
		if q.Name == name {
			return q.Voter && t.promised[i] == 0
		}
	}
	return false
}

// refused reports whether so many voters have denied that no majority is left. With ballotsOnly it
// counts only voters that have promised a higher ballot: others may not have the roster yet.
func (t *tally) refused(ballotsOnly bool) bool {
	denied := 0
	for i := range t.denied {
		if t.denied[i] && (!ballotsOnly || t.highest[i] > 0) {
			denied++
		}
	}
	return denied > t.roster.voters()-t.roster.majority()
}

// split reports whether no majority is left without those that have neither answered nor supported
// this process before (C6): the leaseholder that was lost last, and after a while all of them. A
// majority has supported it, so somebody has denied.
func (t *tally) split(lost string, after bool) bool {
	denied, silent := 0, 0
	for i, q := range t.roster.Members {
		switch {
		case t.denied[i]:
			denied++
		case q.Voter && t.promised[i] == 0 && !t.support[i] && (after || q.Name == lost):
			silent++
		}
	}
	return denied+silent > t.roster.voters()-t.roster.majority()
}

// nextBallot returns the ballot to try next: the lowest above that of this tally and those that a
// majority of the voters can have promised.
func (t *tally) nextBallot() int64 {
	ballots := slices.Clone(t.highest)
	for i, q := range t.roster.Members {
		if !q.Voter {
			ballots[i] = MaxBallot
		}
	}
	slices.Sort(ballots)
	return max(ballots[t.roster.majority()-1], t.epoch.Ballot()) + 1
}
