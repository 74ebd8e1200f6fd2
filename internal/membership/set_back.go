package membership

import "time"

// MC10: Set back. A backup that is restored, or a status that is wiped, leaves an older roster in
// the status, or none. Its voters need not be those that may act. A manager that has seen the newer
// one goes on with that (see State.read). One that has not must learn from the agents that there is
// one:
//
//   - In a group that is older than its lead, a manager makes no new roster before a majority of
//     the voters in the status have reported, or 20 s have passed. Where the status has no voters,
//     all pods that may run must have reported, and one lease must have passed.
//   - While an agent reports a newer generation than that in the status, no new roster is made. It
//     ends when a roster is adopted: the newest that agents hold, as a manager signed it. That
//     happens by itself if a majority of its voters report, and nobody reports a newer one.
//     Otherwise it takes an operator's word (kubectl election adopt), who may choose the one in the
//     status, too.
//   - A generation that is an hour ahead of the API server's clock does not count as an agent's
//     mere word. But that clock may have been set back, too. So a manager that takes over has the
//     agent show the roster, and waits for it for 20 s. A roster that a manager signed counts at
//     any distance.
//
// Why a majority is enough: a change of voters waits until a majority uses the roster of the change
// before (MC4), and an agent never goes back to an older one. So if a majority of the voters on a
// roster use that one, or one before, voters have changed once since at most, and any two
// majorities intersect (MC3).
//
// What is not promised: if no agent that has used the newer roster reports in that time, nobody can
// tell that there is one. The next generation is above its one all the same, if the API server's
// clock was not set back. A member that lies about its generation keeps its own group's roster as
// it is until an operator says otherwise; by one of the far future, for 20 s.

// returnWithin is how long an agent may take to come back to a new manager: the longest backoff of
// its client, and the handshakes.
const returnWithin = 20 * time.Second

// lookBack finds out whether the status was set back, and ends that if a roster may be adopted.
func (s State) lookBack(f *Facts) State {
	newest, _ := newestReported(f)
	s.above, s.least = max(s.above, newest), 0
	if s.above <= generationOf(s.roster) {
		s.above = 0
		return s
	}
	adopted, ok := s.roster, f.Adopt.chooses(generationOf(s.roster), s.above)
	if h := f.Held; h != nil && h.Generation > generationOf(s.roster) &&
		(f.Adopt.chooses(h.Generation, s.above) || h.Generation == s.above && usedByMajority(h, f)) {
		adopted, ok = h, true
	}
	if ok {
		s.roster, s.restored, s.above, s.least = adopted, true, 0, s.above+1
	}
	return s
}

// chooses reports whether an operator has adopted this generation, and agents report none that is
// newer than what he has seen.
func (a AdoptRequest) chooses(generation, newest int64) bool {
	return a.Newest >= newest && a.Generation == generation
}

// newestReported returns the newest generation of this group object that an agent reports, or has
// shown as a manager signed it. If the API server's clock is known, a report that is an hour ahead
// of it does not count. claimed is the newest of these.
func newestReported(f *Facts) (newest, claimed int64) {
	newest = generationOf(f.Held)
	const hour = 60 * 60
	latest := int64(f.date().Sub(GenerationsBegin)/time.Second) + hour
	for i := range f.Reports {
		switch r := &f.Reports[i]; {
		case r.OtherGroup:
		case r.Generation < latest, f.Date.IsZero() && !f.ClockAgrees:
			newest = max(newest, r.Generation)
		default:
			claimed = max(claimed, r.Generation)
		}
	}
	return newest, claimed
}

// awaitsProof returns a generation that is a lie unless an agent shows its roster, and for how long
// that is waited for; zero: there is none, or there was time enough.
func (s *State) awaitsProof(f *Facts) (claimed int64, wait time.Duration) {
	if _, claimed = newestReported(f); !f.Inherited || claimed <= generationOf(s.roster) {
		return 0, 0
	}
	return claimed, max(returnWithin-f.Now.Sub(f.Begun), 0)
}

// usedByMajority reports whether a majority of the voters on a roster are connected, and use that
// one or an older one.
func usedByMajority(r *Roster, f *Facts) bool {
	voters, users := 0, 0
	for i := range r.Members {
		m := &r.Members[i]
		if !m.Voter {
			continue
		}
		voters++
		q := f.report(m.UID)
		if q != nil && q.Connected && q.StateID == m.StateID && !q.OtherGroup &&
			q.Generation > 0 && q.Generation <= r.Generation {
			users++
		}
	}
	return users >= Majority(voters)
}

// mayBeSetBack returns for how long a new roster is put off, because agents that may know of a
// newer one have had no time to report it.
func (g *group) mayBeSetBack() time.Duration {
	if !g.Guarded || !g.Inherited {
		return 0
	}
	if g.reportedByMajority() {
		return 0
	}
	wait := returnWithin
	if len(g.voters) == 0 && g.reportedByAll() {
		// a voter may have lost its state directory, and what it promised still runs
		wait = Outlast(g.Lease)
	}
	return max(wait-g.Now.Sub(g.Begun), 0)
}

func (g *group) reportedByMajority() bool {
	reported := 0
	for i := range g.voters {
		if v := &g.voters[i]; v.report != nil && v.report.StateID == v.StateID {
			reported++
		}
	}
	return reported >= Majority(len(g.voters))
}

// reportedByAll reports whether the agents of all pods have reported that may run.
func (g *group) reportedByAll() bool {
	for i := range g.Pods {
		if pod := &g.Pods[i]; !pod.Finished && g.report(pod.UID) == nil {
			return false
		}
	}
	return true
}

func generationOf(r *Roster) int64 {
	if r == nil {
		return 0
	}
	return r.Generation
}
