package controllers

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// How long the founding is put off at most (R2): until all live pods have joined, or so long after the first has. Longer if an
// agent knows an older roster that the manager does not: the status was lost, and all who may still act by it must be heard.
const (
	foundWithin   = 3 * time.Second
	refoundWithin = 10 * time.Second
)

// certificatesEnd is how long after its pod was found missing every certificate of an agent has ended, clocks that are some
// minutes apart allowed for.
const certificatesEnd = identity.Lifetime + 5*time.Minute

// ledger is what a manager remembers of a group's voters from one pass to the next. All of it is counted anew after a restart
// of the manager, which makes waits longer, never shorter.
type ledger struct {
	voters     string            // which voters it speaks of
	generation int64             // of the roster by which they became the voters, or a later one if this manager has not seen that
	acked      time.Time         // since when a majority of them has acknowledged such a roster
	newest     int64             // generation of the newest roster
	all        time.Time         // since when all of them use the newest
	ended      map[string]ending // voters that are known to have ended
	joined     time.Time         // without voters: since when somebody has joined
	behind     bool              // without voters: somebody that has joined uses a roster of the time when there were voters
	caughtUp   time.Time         // since when nobody does any more
}

// ending is since when a voter is known to have ended.
type ending struct {
	at   time.Time
	sure bool // false: an agent that connects again disproves it
}

// advance enters what is observed. It changes nothing in l.
func (l ledger) advance(o observation) ledger {
	members := votersIn(o.published.Roster)
	next := l
	next.ended = map[string]ending{}
	generation := int64(0)
	if o.published.Roster != nil {
		generation = o.published.Roster.Generation
	}
	if key := keyOf(members); key != l.voters || l.generation == 0 || generation < l.generation {
		next = ledger{voters: key, generation: generation, ended: next.ended}
	}
	if generation != next.newest {
		next.newest, next.all = generation, time.Time{}
	}
	acked, newest := 0, 0
	for _, m := range members {
		if e, known := endingOf(m, o, l.ended[lifeOf(m)]); known {
			next.ended[lifeOf(m)] = e
			if !e.at.After(o.now) {
				acked++
				continue
			}
		}
		if hasAcked(m, o, next.generation) {
			acked++
		}
		if hasAcked(m, o, generation) {
			newest++
		}
	}
	next.acked = first(acked >= majority(len(members)), next.acked, o.now)
	next.all = first(newest == len(members), next.all, o.now)
	return next.advanceFounding(o, len(members))
}

// advanceFounding keeps what the founding waits for.
func (l ledger) advanceFounding(o observation, voters int) ledger {
	joined := len(joinedIn(o))
	l.joined = first(voters == 0 && joined > 0, l.joined, o.now)
	behind := false
	for _, s := range o.sightings {
		behind = behind || s.Report.Generation > 0 && (l.generation == 0 || s.Report.Generation < l.generation)
	}
	switch {
	case voters > 0 || behind:
		l.behind, l.caughtUp = voters == 0, time.Time{}
	case l.behind:
		l.behind, l.caughtUp = false, o.now
	}
	return l
}

// founding is when those that have joined become the first voters; zero while nobody has. Wait is a longest lease.
func (l ledger) founding(o observation, wait time.Duration) time.Time {
	latest := l.joined
	if waitsForPods(o) {
		latest = l.joined.Add(foundWithin)
	}
	switch {
	case l.joined.IsZero():
		return time.Time{}
	case l.behind:
		return l.joined.Add(refoundWithin + wait)
	case l.caughtUp.IsZero():
		return latest
	}
	if waitsForPods(o) {
		latest = l.joined.Add(refoundWithin)
	}
	if due := l.caughtUp.Add(wait); due.After(latest) {
		return due
	}
	return latest
}

// waitsForPods says whether a live pod has not joined yet.
func waitsForPods(o observation) bool {
	live := 0
	for _, pod := range membersOf(o) {
		if pod.DeletionTimestamp == nil {
			live++
		}
	}
	return live > len(joinedIn(o))
}

// hasAcked says whether a voter uses a roster of that generation or a later one, with the memory that the roster knows: it
// promises nothing below any more, whether it is connected or not.
func hasAcked(m v1.RosterMember, o observation, generation int64) bool {
	s, seen := o.sightings[m.UID]
	return seen && generation > 0 && s.Report.StateID == m.StateID && s.Report.Generation >= generation &&
		s.Report.Generation <= o.published.Roster.Generation
}

// endingOf is R5. Earlier is what was known before.
func endingOf(m v1.RosterMember, o observation, earlier ending) (ending, bool) {
	if earlier.sure {
		return earlier, true
	}
	pod, seen := podOf(m, o), o.sightings[m.UID]
	connected := seen.Connected && seen.Report.StateID == m.StateID
	if at, known := o.endings[m.UID]; known {
		return ending{at: at, sure: true}, true
	}
	over := !m.GoneSince.IsZero() && o.now.Sub(m.GoneSince.Time) > certificatesEnd
	other := seen.Report.StateID != "" && seen.Report.StateID != m.StateID
	if over || other || pod != nil && hasEnded(pod) {
		return ending{at: o.now, sure: true}, true
	}
	left := pod != nil && leftWith(seen, pod) || pod == nil && !earlier.at.IsZero()
	if connected || !left && !ptr.Deref(m.Forgotten, false) {
		return ending{}, false
	}
	if left && earlier.at.IsZero() {
		return ending{at: seen.Since.Add(leavesWithin)}, true
	}
	return ending{at: first(true, earlier.at, o.now)}, true
}

// leavesWithin is for how long an agent that leaves may go on answering the others (5 s; see internal/agent), with room to spare.
const leavesWithin = 7 * time.Second

// leftWith says whether an agent said that it leaves, and left, when its pod was being deleted already: before that, its
// container may have been started again.
func leftWith(s roster.Sighting, pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil || !s.Report.Leaving || s.Connected {
		return false
	}
	asked := pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
	return !s.Since.Before(asked)
}

func votersIn(r *v1.RosterStatus) []v1.RosterMember {
	if r == nil {
		return nil
	}
	var some []v1.RosterMember
	for _, m := range r.Members {
		if ptr.Deref(m.Voter, false) {
			some = append(some, m)
		}
	}
	return some
}

func podOf(m v1.RosterMember, o observation) *corev1.Pod {
	for _, pod := range o.pods {
		if pod.UID == m.UID {
			return pod
		}
	}
	return nil
}

// lifeOf identifies a voter: a pod and the memory of its agent.
func lifeOf(m v1.RosterMember) string { return string(m.UID) + "/" + m.StateID }

func keyOf(members []v1.RosterMember) string {
	lives := make([]string, len(members))
	for i, m := range members {
		lives[i] = lifeOf(m)
	}
	return strings.Join(lives, " ")
}

// first is since when something holds: since earlier, if it did then, else since now; zero if it does not.
func first(holds bool, earlier, now time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case earlier.IsZero():
		return now
	default:
		return earlier
	}
}
