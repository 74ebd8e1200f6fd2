package controllers

import (
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// situation is all that the next step of a Guarded group's voters depends on. The rules R1–R7 are those of docs/reference/lease.md.
type situation struct {
	now      time.Time
	wait     time.Duration // after which no promise made before can still run: the longest lease, by a slow clock
	settle   time.Duration // after which no promise under a roster that was left before can: it was renewed for a lease (V4)
	acked    time.Time     // since when a majority of the voters has acknowledged that they are the voters; zero: it has not
	voters   []voter
	joined   []candidate // processes that could vote and do not, in ring order
	founding time.Time   // without voters: when those that have joined become the first; zero: nobody has joined
}

// candidate is a process that could become a voter.
type candidate struct {
	v1.RosterMember

	since time.Time // its agent has been there
}

// voter is a voter on the persisted roster and what is known of it.
type voter struct {
	v1.RosterMember

	connected bool      // it reports to this manager, with its memory, and not that it leaves
	ended     time.Time // since when it is known to have ended (R5); zero: it is not
	ends      time.Time // when it has ended for certain, which may be yet to come (R5); zero: nothing tells
	there     bool      // its pod is there, and has not ended
	missing   time.Time // from when on its pod is gone or hangs, or it says that it leaves (R6); zero: it is not
	lost      time.Time // from when on nobody expects it back, its end unknown (R7); zero: it is not
}

// step is what becomes of the voters now.
type step struct {
	voters  []v1.RosterMember // those that there are to be
	changed bool
	pending int           // how many processes are to become voters, or to be one no more, in steps to come
	again   time.Duration // when time alone would allow a step; zero: it takes an event
	lost    []string      // the voters without which there is no majority (R7); empty: there is one, or will be
	silent  []string      // those of them whose pods are there: it may be the manager that is cut off
}

// nextStep makes at most one step. Every set of voters that it makes shares a voter of every majority with the one before,
// those apart that ended a longest lease ago.
func nextStep(s situation) step {
	if len(s.voters) == 0 {
		return s.found()
	}
	next := step{pending: s.pending()}
	settled, wait := since(s.acked, s.settle, s.now)
	if settled {
		if next.voters, next.changed = s.change(); next.changed {
			return next
		}
	}
	next.voters = membersIn(s.voters, func(voter) bool { return true })
	next.again = sooner(wait, s.later())
	if next.pending == 0 {
		next.again = s.later()
	}
	if wait == 0 || next.pending == 0 {
		next.lost, next.silent = s.majorityLost()
	}
	return next
}

// found is R2: the first voters may be any; it is put off for a while, so that it need not be followed by many small steps.
func (s situation) found() step {
	next := step{pending: len(s.joined)}
	due, wait := since(s.founding, 0, s.now)
	if !due || len(s.joined) == 0 {
		next.again = wait
		return next
	}
	for _, c := range s.joined {
		next.voters = append(next.voters, c.asVoter())
	}
	next.changed = true
	return next
}

func (c candidate) asVoter() v1.RosterMember {
	m := c.RosterMember
	m.Voter = new(true)
	return m
}

// change is R3, R5 and R6: all that have ended for long enough go at once. Otherwise one goes whose pod is gone or hangs, whether
// its end is known or not, or one comes that has been there for long enough: a new voter promises nothing at first (V1), and the
// coordinator may need it at once.
func (s situation) change() ([]v1.RosterMember, bool) {
	over := func(v voter) bool { ripe, _ := since(v.ended, s.wait, s.now); return ripe }
	if rest := membersIn(s.voters, func(v voter) bool { return !over(v) }); len(rest) < len(s.voters) {
		return rest, true
	}
	for i, v := range s.voters {
		gone, _ := since(v.missing, 0, s.now)
		if gone && s.carries(len(s.voters)-1, func(j int) bool { return j != i }, 0) {
			return membersIn(s.voters, func(o voter) bool { return o.UID != v.UID }), true
		}
	}
	for _, c := range s.joined {
		there, _ := since(c.since, s.wait, s.now)
		if there && s.carries(len(s.voters)+1, func(int) bool { return true }, 1) {
			return append(membersIn(s.voters, func(voter) bool { return true }), c.asVoter()), true
		}
	}
	return nil, false
}

// carries says whether a set of n voters, the newcomers and those of the present ones that stay, would have a majority
// connected that can acknowledge it: a step that leaves the group without one is not made (R6).
func (s situation) carries(n int, stays func(int) bool, newcomers int) bool {
	connected := newcomers
	for i, v := range s.voters {
		if stays(i) && v.connected && v.ended.IsZero() {
			connected++
		}
	}
	return connected >= majority(n)
}

// pending is how many processes wait for a step of the voters.
func (s situation) pending() int {
	n := len(s.joined)
	for _, v := range s.voters {
		gone, _ := since(v.missing, 0, s.now)
		if !v.ended.IsZero() || gone {
			n++
		}
	}
	return n
}

// later is when the first of what time alone brings about comes: an end that comes true, or is long enough ago, a pod that hangs, a
// voter that is given up, a process that has been there for long enough.
func (s situation) later() (again time.Duration) {
	for _, c := range s.joined {
		_, there := since(c.since, s.wait, s.now)
		again = sooner(again, there)
	}
	for _, v := range s.voters {
		_, ripe := since(v.ended, s.wait, s.now)
		_, ends := since(v.ends, 0, s.now)
		_, missing := since(v.missing, 0, s.now)
		_, lost := since(v.lost, 0, s.now)
		again = sooner(again, sooner(sooner(ripe, ends), sooner(missing, lost)))
	}
	return again
}

// majorityLost is R7: the voters that nobody expects back, if there is no majority without them. Those that are known to have
// ended are as good as removed. Silent are those of them that may only be out of the manager's sight.
func (s situation) majorityLost() (lost, silent []string) {
	voters := 0
	for _, v := range s.voters {
		if !v.ended.IsZero() {
			continue
		}
		voters++
		if gone, _ := since(v.lost, 0, s.now); gone {
			lost = append(lost, v.Name)
			if v.there {
				silent = append(silent, v.Name)
			}
		}
	}
	if voters-len(lost) >= majority(voters) {
		return nil, nil
	}
	return lost, silent
}

// majority of n voters: two of them share a voter.
func majority(n int) int { return n/2 + 1 }

// since says whether wait has passed since then, and how long it takes otherwise. Since a zero time nothing passes.
func since(then time.Time, wait time.Duration, now time.Time) (passed bool, left time.Duration) {
	if then.IsZero() {
		return false, 0
	}
	left = then.Add(wait).Sub(now)
	return left <= 0, max(left, 0)
}

func membersIn(voters []voter, want func(voter) bool) []v1.RosterMember {
	var some []v1.RosterMember
	for _, v := range voters {
		if want(v) {
			some = append(some, v.RosterMember)
		}
	}
	return some
}
