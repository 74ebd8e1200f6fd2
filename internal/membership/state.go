package membership

import "time"

// State is what a manager carries from one pass over a group to the next. Its zero value is that of
// a manager that has just started. A State is never changed: Step and Persisted return another one.
type State struct {
	roster   *Roster // the newest that this manager has read or persisted
	restored bool    // the status holds an older one or none: somebody wiped or restored it
	above    int64   // agents use this generation, which is newer than roster; 0: none does (MC10)
	paced    paced   // the rosters of the group (MC1)
	least    int64   // the next generation is at least this, because a roster was adopted

	voters []voterRecord // the voters that the following speaks of, in roster order
	rules  int32         // the rules level of the newest roster (MC11)
	// of the roster by which they became the voters under it, or a later one
	generation   int64
	acknowledged time.Time // since when a majority of them has acknowledged that (MC4)
	newest       int64     // generation of the newest roster
	allUse       time.Time // since when every voter uses the newest roster

	joined   time.Time // without voters: since when at least one process has joined (MC2)
	behind   bool      // without voters: an agent uses a roster of when there were voters
	caughtUp time.Time // since when no agent does any more
	founded  time.Time // when this manager founded the group; zero: it has formed (MC15)
	forming  bool      // processes have come since

	without time.Time // since when nobody else is known to coordinate while a request stands (MC12)
}

// voterRecord is a voter and the proof that it has ended, if there is one.
type voterRecord struct {
	uid, stateID string
	end          proof
	dismissed    int64 // see voter
}

// Roster returns the newest roster that this manager knows; nil if there is none. It is
// Facts.Roster of the last Step, unless the status has lost it since.
func (s State) Roster() *Roster { return s.roster }

// Persisted returns the state after a roster was persisted.
func (s State) Persisted(r *Roster) State {
	s.roster = r
	return s
}

// read takes in the roster that the status holds. If it is older than one this manager knows,
// somebody has wiped the status or restored an old one. The newer one stays: who the voters were
// must not be lost while they may act.
func (s State) read(found *Roster) State {
	s.restored = s.roster != nil && (found == nil || found.Generation < s.roster.Generation)
	if !s.restored {
		s.roster = found
	}
	return s
}

// advance enters what this pass sees of the voters: who has ended (MC5), and whether a majority has
// acknowledged the last change (MC4).
func (s State) advance(g *group) State {
	generation, rules := int64(0), int32(1)
	if s.roster != nil {
		generation, rules = s.roster.Generation, level(s.roster.Rules)
	}
	next := s
	change := !s.speaksOf(g.voters) || len(g.voters) > 0 && s.rules != rules
	if change || s.generation == 0 || generation < s.generation {
		next = State{
			roster:     s.roster,
			restored:   s.restored,
			least:      s.least,
			paced:      s.paced,
			without:    s.without,
			joined:     s.joined,
			behind:     s.behind,
			caughtUp:   s.caughtUp,
			founded:    s.founded,
			forming:    s.forming,
			generation: generation,
		}
	}
	next.rules = rules
	if generation != next.newest {
		next.newest, next.allUse = generation, time.Time{}
	}
	next.voters = make([]voterRecord, len(g.voters))
	present := s.roster != nil && tellsPresent(s.roster, g.Facts)
	acknowledged, useNewest := 0, 0
	for i := range g.voters {
		v := &g.voters[i]
		known := s.recordOf(v)
		if v.dismissed = known.dismissed; v.dismissed == 0 && present && v.pod != nil &&
			v.pod.deleting() {
			v.dismissed = generation
		}
		v.end = proofOfEnd(v, g.Facts, known.end)
		next.voters[i] = voterRecord{
			uid:       v.UID,
			stateID:   v.StateID,
			end:       v.end,
			dismissed: v.dismissed,
		}
		switch {
		case v.hasEnded(g.Now):
			acknowledged++
			continue
		case v.uses(next.generation, generation):
			acknowledged++
		}
		if v.uses(generation, generation) {
			useNewest++
		}
	}
	next.acknowledged = heldSince(acknowledged >= Majority(len(g.voters)), next.acknowledged, g.Now)
	next.allUse = heldSince(useNewest == len(g.voters), next.allUse, g.Now)
	return next.awaitFounding(g)
}

// speaksOf reports whether the state is about these voters.
func (s *State) speaksOf(voters []voter) bool {
	if len(s.voters) != len(voters) {
		return false
	}
	for i := range voters {
		if s.voters[i].uid != voters[i].UID || s.voters[i].stateID != voters[i].StateID {
			return false
		}
	}
	return true
}

// recordOf returns what earlier passes knew of a voter.
func (s *State) recordOf(v *voter) voterRecord {
	for i := range s.voters {
		if s.voters[i].uid == v.UID && s.voters[i].stateID == v.StateID {
			return s.voters[i]
		}
	}
	return voterRecord{}
}
