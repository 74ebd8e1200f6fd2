package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// The places of a group of two replicas and a witness. The spec gives the witness the highest
// priority of all, which does not matter.
const (
	theWitness, second, first = int32(0), int32(1), int32(2)
)

// twoReplicas returns a Guarded group of two candidates, and a witness if there is to be one, in
// which the first leads and no manager is there any more: who votes stays as it is.
func twoReplicas(t *testing.T, algorithm string, witness bool) *stage {
	t.Helper()
	h := &stage{World: NewWorld()}
	o := Options{
		Algorithm: algorithm,
		Guarded:   true,
		Quiet:     true,
		Processes: 3,
		Chaos:     forever,
		Lease:     Lease{Lease: time.Second, Preemption: lease.Always, Stable: time.Second},
	}
	if witness {
		o.Witnesses = 1
	}
	h.begin(o)
	for p, priority := range []int32{100, 1, 2} {
		h.api.pods[p].priority = priority
	}
	if !witness {
		h.api.pods[theWitness].there = false
		h.kill(theWitness)
	}
	h.manage(0)
	h.wait(t, "the first leads, as the best of those that may", func() bool {
		return h.holder() == first && h.allAgree()
	})
	for i := range h.managers {
		h.managers[i].down = forever
	}
	return h
}

// votersNow is how many vote by the newest roster.
func (h *stage) votersNow() int { return len(votersOf(h.api.newest().members)) }

// mischief is what happens to a group of two replicas and a witness.
type mischief struct {
	name    string
	happens func(h *stage)
	leads   int32 // whoever does then
	// without is for how long nobody leads at most.
	without Time
}

// aLease is the longest time without a leader if the old one does not give its lease back: a lease
// on any clock, and what a suspicion and an election take.
const aLease = Time(time.Second)*122/100 + 6*T

// cutOff cuts a process off from both others.
func (h *stage) cutOff(p int32) {
	for q := range int32(3) {
		if q != p {
			h.cut(p, q, forever)
		}
	}
}

// loseNode ends a process with its pod, and nobody learns whether it has ended.
func (h *stage) loseNode(p int32) {
	h.Unsure = 1000
	h.removePod(p)
}

// ofReplicas is what may happen to the two replicas, and ofTheWitness to the third.
var (
	ofReplicas = []mischief{
		{"SIGKILL of the leader", func(h *stage) { h.kill(first) }, second, aLease},
		{"the leader's node is lost", func(h *stage) { h.loseNode(first) }, second, aLease},
		{"the leader is cut off", func(h *stage) { h.cutOff(first) }, second, aLease},
		{"the leader stands still", func(h *stage) { h.sleep(first, forever-h.now) }, second, aLease},
		{"SIGKILL of the other replica", func(h *stage) { h.kill(second) }, first, 0},
		{"the other replica's node is lost", func(h *stage) { h.loseNode(second) }, first, 0},
		{"the other replica is cut off", func(h *stage) { h.cutOff(second) }, first, 0},
		{"the replicas do not reach each other", func(h *stage) { h.cut(first, second, forever) }, first, 0},
	}
	ofTheWitness = []mischief{
		{"SIGKILL of the witness", func(h *stage) { h.kill(theWitness) }, first, 0},
		{"the witness's node is lost", func(h *stage) { h.loseNode(theWitness) }, first, 0},
		{"the witness is cut off", func(h *stage) { h.cutOff(theWitness) }, first, 0},
	}
)

// Two replicas and a witness survive the loss of any one of the three, whatever it is lost by,
// without a manager and under every algorithm; and if the link between the two replicas breaks, the
// witness keeps the leader. Without a witness the loss of either replica ends it. The witness never
// leads, and every invariant is checked after each step.
func TestTwoReplicasAndAWitness(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, m := range slices.Concat(ofReplicas, ofTheWitness) {
			t.Run(algorithm+"/"+m.name, func(t *testing.T) {
				h := twoReplicas(t, algorithm, true)
				if n := h.votersNow(); n != 3 {
					t.Fatalf("%d vote", n)
				}
				m.happens(h)
				leaders, gap := h.changes(t, 60*T)
				if leaders[0] == first && m.leads != first {
					leaders = leaders[1:] // until its lease had run out
				}
				if !slices.Equal(leaders, []int32{m.leads}) || gap > m.without+Unit/50 {
					t.Errorf("%v led, want %d; nobody for %s, want at most %s", leaders, m.leads,
						clockFormat(gap), clockFormat(m.without))
				}
				t.Logf("%v led, nobody for %s", leaders, clockFormat(gap))
			})
		}
	}
}

// The control of the test above: two replicas without a witness do not survive it.
func TestTwoReplicasWithoutAWitness(t *testing.T) {
	for _, m := range ofReplicas {
		t.Run(m.name, func(t *testing.T) {
			h := twoReplicas(t, "Bully", false)
			if n := h.votersNow(); n != 2 {
				t.Fatalf("%d vote", n)
			}
			m.happens(h)
			h.changes(t, 10*T)
			if leaders, _ := h.changes(t, 40*T); len(leaders) != 0 {
				t.Errorf("%v led", leaders)
			}
		})
	}
}

// All that is broken comes back: the first leads again, and the group is as before. With a manager,
// a witness whose node is lost is replaced by another one, and the group survives the next loss,
// too.
func TestTheWitnessIsReplaced(t *testing.T) {
	h := twoReplicas(t, "Bully", true)
	for i := range h.managers {
		h.managers[i].down = h.now
	}
	h.removePod(theWitness) // its kubelet says so after a while
	h.wait(t, "two voters", func() bool { return h.votersNow() == 2 })
	h.addPod(theWitness)
	h.start(theWitness, false)
	h.wait(t, "three voters", func() bool { return h.votersNow() == 3 && h.allAgree() })
	h.kill(first)
	h.wait(t, "the second leads", func() bool { return h.holder() == second })
	h.calm(t)
}

// Whatever becomes of its mark, a witness leads in no run: not when its mark is taken off, and not
// when it is the last that runs.
func TestAWitnessNeverLeads(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("Guarded %t", guarded), func(t *testing.T) {
			h := begin(history{algorithm: "Bully", guarded: guarded, processes: 3})
			h.wait(t, "all follow the highest", h.allAgree)
			h.api.pods[2].witness = true
			h.wait(t, "the second leads", func() bool { return h.leads() == 1 })
			h.api.pods[2].witness = false
			h.api.pods[2].priority = 50
			if leaders, _ := h.changes(t, 60*T); !slices.Equal(leaders, []int32{1}) {
				t.Errorf("%v led when the mark was gone", leaders)
			}
			h.kill(0)
			h.kill(1)
			h.changes(t, 10*T)
			if leaders, _ := h.changes(t, 40*T); len(leaders) != 0 && leaders[0] == 2 {
				t.Errorf("%v led", leaders)
			}
			if m := h.api.newest().members.Members[2]; !m.Witness || m.Priority != 0 {
				t.Errorf("the roster has %+v", m)
			}
		})
	}
}
