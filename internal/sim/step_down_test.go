package sim

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/membership"
)

// askFor has an operator who sees the group as it is ask that the highest process step down.
func (h *stage) askFor(how func(*membership.StepDownRequest)) {
	p := int32(h.Processes - 1)
	h.api.stepDown = membership.StepDownRequest{
		ID:         "a",
		Generation: h.api.newest().node.Generation,
		Process:    h.podOf(p),
	}
	if h.Guarded {
		h.api.stepDown.Epoch = int64(h.oracle().holds[p].epoch)
	}
	how(&h.api.stepDown)
}

// leads is who leads; −1: nobody, or several who think so.
func (h *stage) leads() int32 {
	if h.Guarded {
		return h.holder()
	}
	found := int32(-1)
	for p := range h.processes {
		if v := &h.processes[p]; v.roster != nil && v.seen.Coordinator == v.name {
			if found >= 0 {
				return -1
			}
			found = int32(p)
		}
	}
	return found
}

// changes lets a group run for a while. It returns who led, one after the other, and the longest
// time without a leader.
func (h *stage) changes(t *testing.T, d Time) (leaders []int32, gap Time) {
	t.Helper()
	since := h.now
	for end := h.now + d; h.now < end && h.broken == nil; h.until(h.now + Unit/100) {
		p := h.leads()
		if p < 0 {
			gap = max(gap, h.now-since)
			continue
		}
		since = h.now
		if len(leaders) == 0 || leaders[len(leaders)-1] != p {
			leaders = append(leaders, p)
		}
	}
	if h.broken != nil {
		t.Fatal(h.broken)
	}
	return leaders, gap
}

func highestOf(t *testing.T, algorithm string, guarded bool) *stage {
	t.Helper()
	h := begin(history{algorithm: algorithm, guarded: guarded, processes: 4})
	h.wait(t, "all follow the highest", h.allAgree)
	return h
}

// A process that steps down hands over once, to the next in rank, and takes less time for it than a
// process that is killed. With a successor it hands over to that one. At the end of the request the
// highest takes over again, and that is all.
func TestStepDownHandsOver(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for name, guarded := range map[string]bool{"Classic": false, "Guarded": true} {
			t.Run(name+"/"+algorithm, func(t *testing.T) {
				h := highestOf(t, algorithm, guarded)
				h.askFor(func(r *membership.StepDownRequest) { r.For = 20 * time.Second })
				rosters := len(h.api.rosters)
				leaders, gap := h.changes(t, 90*T)
				if len(leaders) != 2 || leaders[1] != 2 || len(h.api.rosters) != rosters+1 {
					t.Errorf("P4 steps down: %v lead, %d rosters", leaders, len(h.api.rosters)-rosters)
				}
				leaders, back := h.changes(t, 60*T)
				if len(leaders) != 2 || leaders[1] != 3 || len(h.api.rosters) != rosters+2 {
					t.Errorf("P4 is back: %v lead, %d rosters", leaders, len(h.api.rosters)-rosters)
				}

				k := highestOf(t, algorithm, guarded)
				k.crash(3)
				_, killed := k.changes(t, 60*T)
				t.Logf("without a leader for %s, at the end for %s; after a kill for %s",
					clockFormat(gap), clockFormat(back), clockFormat(killed))
				if gap >= killed && guarded {
					t.Errorf("a step-down takes %s, a kill %s", clockFormat(gap), clockFormat(killed))
				}

				s := highestOf(t, algorithm, guarded)
				s.askFor(func(r *membership.StepDownRequest) { r.To, r.For = s.podOf(0), aDay })
				leaders, chosen := s.changes(t, 60*T)
				t.Logf("to P1: %v lead, without a leader for %s", leaders, clockFormat(chosen))
				if leaders[len(leaders)-1] != 0 {
					t.Errorf("to P1: %v lead", leaders)
				}
			})
		}
	}
}
