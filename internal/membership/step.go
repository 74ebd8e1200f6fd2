package membership

import "time"

// Decision is what Step decides.
type Decision struct {
	// Roster is what the agents are to be told; nil: nothing, now.
	Roster *Roster
	// Persist: the status does not hold Roster yet. It must, before any agent is told.
	Persist bool
	// PutOff: another roster is due, and waits (MC1, MC10).
	PutOff bool
	// Why is why Roster differs from the one before.
	Why Reason
	// Forming: the roster is to say that preemption does not wait (MC15).
	Forming bool
	// TooMany is how many live pods there are if they are more than a roster holds; else zero. Then
	// the last roster stays.
	TooMany int
	// Pending is how many processes are to become voters, or to stop being voters, in later
	// changes.
	Pending int
	// Lost are the voters without which there is no majority (MC7). Silent are those of them whose
	// pods exist, and Replaced those of these whose pods came back with another state directory.
	Lost, Silent, Replaced []string
	// Unreached are the voters that this manager has not reached for 30 s, or that nobody expects
	// back, if they are so many that no process can become a voter (MC3).
	Unreached []string
	// Unsupported is the rules level in force if this manager does not support it: no roster is made
	// (MC11). Otherwise 0.
	Unsupported int32
	// SetBack is the generation that agents use, if that in the status is older: no roster is made
	// (MC10). Otherwise 0.
	SetBack int64
	// Again is when time alone would change the decision; zero: it takes an event.
	Again time.Duration
}

// Reason is why a roster differs from the one before: the first of these that holds.
type Reason string

// The reasons.
const (
	Unchanged     Reason = ""
	Founded       Reason = "Founded"       // the first voters (MC2)
	VotersEnded   Reason = "VotersEnded"   // voters that have ended were removed (MC5)
	VoterMissing  Reason = "VoterMissing"  // a missing voter was removed (MC6)
	VoterJoined   Reason = "VoterJoined"   // a voter was added (MC3)
	LevelChanged  Reason = "LevelChanged"  // the rules level is another one (MC11)
	RosterLost    Reason = "RosterLost"    // the status had lost the roster
	MembersChange Reason = "MembersChange" // what agents are told of members or settings
	BallotsSpent  Reason = "BallotsSpent"  // the ballots of the generation were used up
	Recorded      Reason = "Recorded"      // agents are told nothing new: the record alone changed
)

// group is what a manager knows of a group in one pass, put together.
type group struct {
	*Facts

	roster *Roster // the newest; nil: none
	voters []voter
	joined []candidate
	level  int32 // the rules level in force (MC11)
	lowest int32 // of the newest levels of the manager and all that vote or could
}

// Step decides what the roster of a group is to be, and makes at most one change of its voters. It
// returns the state for the next pass, whether or not the caller succeeds in persisting the roster
// (see State.Persisted).
func Step(s State, f *Facts) (State, Decision) {
	s = s.read(f.Roster)
	s.paced = s.paced.count(s.roster, f.Now)
	if f.Guarded {
		if s = s.lookBack(f); s.above > 0 {
			return s, Decision{SetBack: s.above}
		}
		if claimed, wait := s.awaitsProof(f); wait > 0 {
			return s, Decision{SetBack: claimed, Again: wait}
		}
		if s.roster != nil && !supports(f.Rules, s.roster.Rules) {
			return s, Decision{Unsupported: level(s.roster.Rules)}
		}
	}
	s, f, forms := s.form(witnesses(f, s.roster))
	g := &group{Facts: f, roster: s.roster}
	if f.Guarded {
		g.findVoters()
		g.joined = g.findJoined()
		g.findLevel()
		s = s.advance(g)
		g.judgeVoters()
	}
	d := decide(&s, g)
	d.Forming, d.Again = s.forming, sooner(forms, d.Again)
	if !d.Persist {
		return s, d
	}
	wait := max(g.mayBeSetBack(), s.paced.wait(g.roster, d.Roster, f.Now))
	if wait > 0 && !s.restored {
		d.Roster, d.Persist, d.Why, d.Again = nil, false, Unchanged, sooner(wait, d.Again)
		d.PutOff = true
	} else {
		s.paced = s.paced.propose(d.Roster)
	}
	return s, d
}

// decide makes the roster.
func decide(s *State, g *group) Decision {
	live, last := 0, s.roster
	for i := range g.Pods {
		if !g.Pods[i].Finished {
			live++
		}
	}
	switch {
	case live > MaxMembers:
		return Decision{TooMany: live}
	case last == nil && live == 0:
		return Decision{}
	}
	var d Decision
	r := &Roster{}
	spent := false
	if g.Guarded {
		d, r, spent = guarded(s, g)
	} else {
		r.Members = classicMembers(g)
	}
	record, again := s.stepDown(g)
	r.StepDown, d.Again = record, sooner(again, d.Again)
	fill(r.Members, record, g.Facts)
	r.Digest = digest(r.Members, r.Rules, g.Facts)
	renumber := last == nil || last.Digest != r.Digest || s.restored || spent
	if renumber {
		r.Generation = max(NextGeneration(last, g.Reports, g.date()), s.least, g.After+1)
	} else {
		r.Generation = last.Generation
	}
	d.Roster, d.Persist = r, last == nil || s.restored || !same(r, last)
	if d.Persist && d.Why == Unchanged {
		d.Why = reason(s, r, spent)
	}
	return d
}

func reason(s *State, r *Roster, spent bool) Reason {
	switch {
	case s.restored:
		return RosterLost
	case s.roster == nil || r.Digest != s.roster.Digest:
		return MembersChange
	case spent:
		return BallotsSpent
	default:
		return Recorded
	}
}

// guarded makes the roster of a Guarded group, but for its digest and number.
func guarded(s *State, g *group) (d Decision, r *Roster, spent bool) {
	longest, shorter := longestLease(s, g.Facts)
	wait := Outlast(longest)
	situation := situation{
		now:          g.Now,
		wait:         wait,
		changeAfter:  Outlast(2 * longest),
		acknowledged: s.acknowledged,
		voters:       g.voters,
		joined:       g.joined,
		founding:     s.foundingDue(g, wait),
	}
	next := situation.next()
	inForce := g.level
	if to := g.nextLevel(); to != g.level && next.why == Unchanged {
		if due, left := situation.changeDue(); due {
			inForce, next.why = to, LevelChanged
		} else {
			next.again = sooner(left, next.again)
		}
	}
	spent, again := ballotsSpent(g, longest)
	d = Decision{
		Why:      next.why,
		Pending:  next.pending,
		Lost:     next.lost,
		Silent:   next.silent,
		Replaced: next.replaced,

		Unreached: situation.unreached(),
		Again:     sooner(sooner(next.again, shorter), again),
	}
	r = &Roster{
		LongestLease: longest,
		Rules:        inForce,
		Members:      guardedMembers(g, next.voters),
	}
	return d, r, spent
}

// findVoters puts the voters of the newest roster together with their pods and reports.
func (g *group) findVoters() {
	if g.roster == nil {
		return
	}
	g.voters = make([]voter, 0, len(g.roster.Members))
	for i := range g.roster.Members {
		if m := &g.roster.Members[i]; m.Voter {
			g.voters = append(g.voters,
				voter{
					Member: m,
					pod:    g.pod(m.UID),
					report: g.report(m.UID),
				})
		}
	}
}

// judgeVoters finds who is connected, missing or lost (MC6, MC7), and whose certificates expire.
func (g *group) judgeVoters() {
	leaderless := leaderless(g.voters)
	for i := range g.voters {
		v := &g.voters[i]
		leaves := v.reports() && v.report.Leaving
		goesOn := !leaves || v.knowsItsEnd() && !v.report.Left
		v.connected = v.reports() && goesOn && supports(v.report.Rules, g.level)
		v.missing = v.missingFrom(leaves, g.Now)
		v.lost, v.unreached = v.lostFrom(leaderless, g.Begun), v.unreachedFrom(g.Begun)
		v.expires = v.certificatesExpire(g.Facts)
	}
}
