package membership

import (
	"slices"
	"time"
)

// MC15: Forming. The processes of a group may start one after another. Under Delayed its lease
// would climb then: each process would take over from the one before, after a stable time. So a
// group may form for 10 s after its founding (MC2). If there is a process that does not vote in
// this time, the rosters say until its end that preemption does not wait. A manager that starts
// meanwhile knows of no founding. For this manager, the group has formed.

// FormsWithin is how long after its founding a group may form.
const FormsWithin = 10 * time.Second

// form enters whether the group forms. It returns the facts with the settings that follow, and
// after what time the group has formed; zero: it does not form.
func (s State) form(f *Facts) (State, *Facts, time.Duration) {
	if !s.joined.IsZero() && s.roster.hasVoters() {
		s.founded = f.Now
	}
	over, left := elapsed(s.founded, FormsWithin, f.Now)
	switch {
	case over:
		s.founded, s.forming = time.Time{}, false
	case left > 0 && f.Delayed && f.newcomers(s.roster):
		s.forming = true
	}
	if !s.forming {
		return s, f, 0
	}
	told := *f
	told.Settings += " forming"
	return s, &told, left
}

// newcomers reports whether a pod that may become a voter is none yet.
func (f *Facts) newcomers(r *Roster) bool {
	for i := range f.Pods {
		pod := &f.Pods[i]
		m := r.member(pod.UID)
		if !departs(pod) && (m == nil || !m.Voter) {
			return true
		}
	}
	return false
}

func (r *Roster) hasVoters() bool {
	return r != nil && slices.ContainsFunc(r.Members, func(m Member) bool { return m.Voter })
}
