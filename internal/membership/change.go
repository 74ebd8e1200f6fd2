package membership

import "time"

// MC3: One at a time. Voters change by one: one is removed, or one is added. A voter is added when
// its agent has been connected for as long as the longest lease can run on any clock: a new voter
// promises nothing for one lease (V1 in internal/lease), and the leaseholder may need it at once. A
// voter is a pod with a state directory: another state directory is another voter. The exception:
// voters that are known to have ended for long enough are all removed in one change (MC5). If all
// of them have, the group is founded anew (MC2). Everything else on a roster may change at any
// time.
//
// Changes go in this order: voters that have ended, then a voter that is missing (MC6), then a
// newcomer. A missing voter goes, and a newcomer comes, only if the resulting voters have a
// majority connected that can acknowledge it.

// voter is a voter on the newest roster and what is known of it.
type voter struct {
	*Member

	pod    *Pod    // nil: it is gone
	report *Report // nil: its agent has not reported to this manager
	end    proof   // MC5

	// dismissed is the generation of a roster that gives its process priority 0 because its pod is
	// being deleted (MC8), as do all later ones; 0: there is none that this manager knows of.
	dismissed int64

	// connected: it reports to this manager, supports the level in force, and does not leave, or goes
	// on voting until it is removed (MC6)
	connected bool
	missing   time.Time // since when it is missing or on its way out (MC6); zero: it is not
	lost      time.Time // from when on it is not expected to come back (MC7)
	unreached time.Time // from when on nobody counts on its acknowledgement; zero: it reports
	expires   time.Time // when its certificates will have expired, or clocks are compared again (MC5)
}

// reports reports whether the voter is connected to this manager, with the state directory that the
// roster names.
func (v *voter) reports() bool {
	return v.report != nil && v.report.Connected && v.report.StateID == v.StateID
}

// there reports whether the voter's pod exists and has not finished.
func (v *voter) there() bool { return v.pod != nil && !v.pod.Finished }

// situation is all that the next change of the voters depends on.
type situation struct {
	now          time.Time
	wait         time.Duration // Outlast of the longest lease: no promise made before still runs
	changeAfter  time.Duration // Outlast of two longest leases (MC4)
	acknowledged time.Time     // since when a majority has acknowledged (MC4); zero: it has not
	voters       []voter
	joined       []candidate // could become voters, in ring order
	founding     time.Time   // when they become the first ones (MC2); zero: nobody has joined
}

// step is what becomes of the voters now.
type step struct {
	voters  []voter // from now on
	why     Reason  // Unchanged if they stay
	pending int     // processes that wait for a later change
	// when time alone would change this; 0: it takes an event
	again    time.Duration
	lost     []string // voters without which there is no majority (MC7)
	silent   []string // those of lost whose pods exist
	replaced []string // those of silent whose pods came back with another state directory
}

// next makes at most one change.
func (s *situation) next() step {
	if len(s.voters) == 0 {
		return s.found()
	}
	next := step{pending: s.pending()}
	due, wait := s.changeDue()
	if due {
		if next.voters, next.why = s.change(); next.why != Unchanged {
			return next
		}
	}
	next.voters = s.voters
	next.again = s.later()
	if next.pending > 0 {
		next.again = sooner(wait, next.again)
	}
	if wait == 0 || next.pending == 0 {
		s.majorityLost(&next)
	}
	return next
}

// change returns the voters after the change that is due, if one is.
func (s *situation) change() ([]voter, Reason) {
	over := 0
	for i := range s.voters {
		if s.endedLongAgo(&s.voters[i]) {
			over++
		}
	}
	if over > 0 {
		rest := make([]voter, 0, len(s.voters)-over)
		for i := range s.voters {
			if !s.endedLongAgo(&s.voters[i]) {
				rest = append(rest, s.voters[i])
			}
		}
		return rest, VotersEnded
	}
	if i := s.removable(); i >= 0 {
		rest := append(make([]voter, 0, len(s.voters)-1), s.voters[:i]...)
		return append(rest, s.voters[i+1:]...), VoterMissing
	}
	for i := range s.joined {
		there, _ := elapsed(s.joined[i].since, s.wait, s.now)
		if there && s.carries(len(s.voters)+1, nobody, 1) {
			more := append(make([]voter, 0, len(s.voters)+1), s.voters...)
			return append(more, s.joined[i].voter), VoterJoined
		}
	}
	return nil, Unchanged
}

// endedLongAgo reports whether nothing that the voter promised can still run (MC5).
func (s *situation) endedLongAgo(v *voter) bool {
	over, _ := elapsed(v.end.at, s.wait, s.now)
	return over
}

// nobody is the index of no voter.
const nobody = -1

// carries reports whether a set of n voters would have a majority connected. The set is the
// newcomers and the present voters, without the one at index butFor unless that is nobody:
//
//	connected + newcomers >= majority(n)
//
// where connected counts those voters that report to this manager with the state directory that the
// roster names, support the rules level in force (MC11), are not known to have ended, and do not
// leave, or go on voting until they are removed (MC6).
func (s *situation) carries(n, butFor, newcomers int) bool {
	connected := newcomers
	for i := range s.voters {
		v := &s.voters[i]
		if i != butFor && v.connected && !v.hasEnded(s.now) {
			connected++
		}
	}
	return connected >= Majority(n)
}

// pending returns how many processes wait for a change of the voters.
func (s *situation) pending() int {
	n := len(s.joined)
	for i := range s.voters {
		gone, _ := elapsed(s.voters[i].missing, 0, s.now)
		if gone || s.voters[i].hasEnded(s.now) {
			n++
		}
	}
	return n
}

// later returns after what time something changes without an event: a voter counts as ended, or has
// ended for long enough; its certificates have expired; a pod counts as hanging; a voter is not
// expected back any more; a newcomer has been connected for long enough. Zero is never.
func (s *situation) later() (again time.Duration) {
	for i := range s.joined {
		_, there := elapsed(s.joined[i].since, s.wait, s.now)
		again = sooner(again, there)
	}
	for i := range s.voters {
		v := &s.voters[i]
		_, ends := elapsed(v.end.at, 0, s.now)
		if ends == 0 {
			_, ends = elapsed(v.end.at, s.wait, s.now)
		}
		_, missing := elapsed(v.missing, 0, s.now)
		_, lost := elapsed(v.lost, 0, s.now)
		_, unreached := elapsed(v.unreached, 0, s.now)
		_, expires := elapsed(v.expires, 0, s.now)
		again = sooner(again, sooner(sooner(ends, expires), sooner(missing, sooner(unreached, lost))))
	}
	return again
}

// Majority returns how many of n voters make a majority: any two majorities share a voter.
func Majority(n int) int { return n/2 + 1 }
