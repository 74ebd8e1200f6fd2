package group

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// shake changes what three agents report, or who listens, at random.
func shake(s *scene, r *rand.Rand, epoch *int64, guarded bool) {
	if r.IntN(8) == 0 {
		s.restarted()
	}
	coordinator := []string{"", "p-0", "p-1", "p-2"}[r.IntN(4)]
	if r.IntN(3) == 0 {
		*epoch += r.Int64N(3)
	}
	for i := range 3 {
		if r.IntN(6) == 0 { // it has not noticed yet
			continue
		}
		account := s.sightings[s.pods[i].UID].Report.LastElection
		switch {
		case !guarded:
			s.sees(coordinator, i)
		case coordinator == "":
			s.at(roster.LeaseElecting, i)
		default:
			s.holding(coordinator, *epoch, i)
		}
		if r.IntN(3) > 0 { // its account is as it was
			s.edit(i, func(r *roster.Report) { r.LastElection = account })
			continue
		}
		s.tells(i, fmt.Sprintf("p-0/1/%d", r.IntN(4)), []string{"", "p-1", "stranger"}[r.IntN(3)],
			[]string{"", "Whim", "Started", "Withdrawn"}[r.IntN(4)], under(*epoch+1-r.Int64N(4)),
			costing(r.IntN(9), time.Second))
	}
	if r.IntN(4) == 0 {
		s.loses(r.IntN(3), time.Duration(r.IntN(3))*time.Second)
	}
}

// Whatever agents report, and whichever manager listens, an entry is added to the elections when
// another process coordinates, and with each write one at most; older ones stay as they are; and
// the newest is of the coordinator.
func TestElectionsWhateverIsReported(t *testing.T) {
	added := 0
	for seed := range uint64(60) {
		r, guarded, epoch := rand.New(rand.NewPCG(seed, 1)), seed%2 == 0, int64(7)
		s := newScene(3).sees("", 0, 1, 2).published()
		if guarded {
			s = voting(3)
		}
		last := "" // who coordinated last, as far as was shown
		for range 60 {
			shake(s, r, &epoch, guarded)
			s.later(time.Duration(r.IntN(2000)) * time.Millisecond)
			was := s.observation.published
			if r.IntN(5) == 0 { // a write that fails
				decideStatus(s.observation, rosterDecision{})
			}
			s.shown()
			is := s.observation.published
			more := addedElections(t, was.Elections, is.Elections)
			added += more
			name := coordinatorName(is)
			switch stays := name != "" && coordinatorName(was) == name; {
			case name != "" && is.Elections[0].To != name:
				t.Errorf("%s coordinates, the newest election is %+v", name, is.Elections[0])
			case name == "" && more > 0, stays && more > 0 && !guarded:
				t.Errorf("%d elections more, and %q coordinates, as %q did", more, name, last)
			case name != "" && name != last && more != 1:
				t.Errorf("%s coordinates after %q: %d elections more", name, last, more)
			}
			if name != "" {
				last = name
			}
			if s.shown(); changed(s.observation.published, is) {
				t.Errorf("again, and it changes:\n%+v\n%+v", is.Elections,
					s.observation.published.Elections)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
	if added < 1000 {
		t.Errorf("only %d elections were added", added)
	}
}

// addedElections returns how many elections were added, 0 or 1, and sees that nothing else changed
// but what late accounts complete.
func addedElections(t *testing.T, was, is []v1.ElectionStatus) int {
	t.Helper()
	if len(is) == 0 && len(was) == 0 {
		return 0
	}
	if len(is) == len(was) && equality.Semantic.DeepEqual(facts(is[0]), facts(was[0])) {
		if !equality.Semantic.DeepEqual(is[1:], was[1:]) || is[0].ID != was[0].ID && was[0].ID != "" {
			t.Errorf("an election became another one:\n%+v\n%+v", was, is)
		}
		return 0
	}
	if len(is) != min(len(was)+1, maxElections) || !equality.Semantic.DeepEqual(is[1:], was[:len(is)-1]) {
		t.Errorf("an election was lost, or changed:\n%+v\n%+v", was, is)
	}
	if len(was) > 0 && (!is[0].At.After(was[0].At.Time) || is[0].From != was[0].To ||
		is[0].Epoch < was[0].Epoch || is[0].To == was[0].To && is[0].Epoch > 0 && is[0].Epoch == was[0].Epoch) {
		t.Errorf("after %+v came %+v", was[0], is[0])
	}
	return 1
}

// facts are what no account changes.
func facts(e v1.ElectionStatus) v1.ElectionStatus {
	return v1.ElectionStatus{
		At:        e.At,
		From:      e.From,
		To:        e.To,
		Epoch:     e.Epoch,
		Algorithm: e.Algorithm,
	}
}
