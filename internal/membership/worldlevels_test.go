package membership

import "slices"

// Builds of several rules levels in the world (MC11).

// build draws the newest rules level of a build.
func (w *world) build() int32 { return int32(1 + w.random.IntN(3)) }

// upgradeAgent starts an agent again with another build, newer or older, and its state directory.
func (w *world) upgradeAgent() {
	a := w.pick((*agent).runs)
	if a == nil {
		return
	}
	w.hangUp(a)
	a.rules = max(a.rules+int32(2*w.random.IntN(2)-1), 1)
	w.note("%s supports rules level %d now", a, a.rules)
}

// upgradeManager starts the manager again with another build, newer or older.
func (w *world) upgradeManager() {
	w.restartManager()
	w.Rules = max(w.Rules+int32(2*w.random.IntN(2)-1), 1)
	w.note("the manager supports rules level %d now", w.Rules)
}

// canUse reports whether an agent's build supports the level of the roster that it uses.
func (w *world) canUse(a *agent) bool {
	c := w.rosters[a.using]
	return c == nil || supports(a.rules, c.roster.Rules)
}

// mendBuilds upgrades, or rolls back, the manager and the agents that do not support the rules
// level in force.
func (w *world) mendBuilds() {
	r := w.state.roster
	if r == nil {
		return
	}
	if !supports(w.Rules, r.Rules) {
		w.Rules = level(r.Rules)
	}
	for _, a := range w.agents {
		if a.runs() && !supports(a.rules, r.Rules) {
			a.rules = level(r.Rules)
			if a.connected {
				w.report(a)
			}
		}
	}
}

// checkLevel is MC11: the level changes by one, and never with the voters; the first voters may
// have any that the manager and all of them support.
func (w *world) checkLevel(was, is *Roster, voters []Member) {
	w.t.Helper()
	before := votersAmong(was)
	if !supports(w.Rules, is.Rules) {
		w.fail("a manager that supports level %d makes a roster of level %d", w.Rules, is.Rules)
	}
	for _, m := range voters {
		if slices.ContainsFunc(before, sameVoter(m)) {
			continue
		}
		if r := w.Facts.report(m.UID); !supports(r.Rules, is.Rules) {
			w.fail("%s becomes a voter under level %d, and supports %d", m.UID, is.Rules, r.Rules)
		}
	}
	if len(before) == 0 || level(was.Rules) == is.Rules {
		return
	}
	same := slices.EqualFunc(before, voters, func(a, b Member) bool { return sameVoter(a)(b) })
	if by := is.Rules - level(was.Rules); by > 1 || by < -1 || !same {
		w.fail("from level %d to %d, voters from %v to %v", was.Rules, is.Rules, before, voters)
	}
}
