package agent

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
)

// A voter that follows an epoch which it has not promised has that from hearsay, and a liar may
// have begun it: the manager is told no epoch (G10).
func TestHearsayIsNotReported(t *testing.T) {
	a := &agent{view: View{Coordinator: "p3", Epoch: lease.NewEpoch(1, 4)}}
	if r := a.report(); r.Coordinator != "p3" || r.Epoch != 0 {
		t.Errorf("not bound: it reports %q with epoch %d", r.Coordinator, r.Epoch)
	}
	a.view.Bound = true
	if r := a.report(); r.Epoch != int64(lease.NewEpoch(1, 4)) {
		t.Errorf("bound: it reports epoch %d", r.Epoch)
	}
}

// The words of the node are those of the reports.
func TestWhyItIsNoCandidateIsReported(t *testing.T) {
	for why, word := range map[node.NotCandidate]string{
		node.AppUnhealthy:    roster.NotCandidateUnhealthy,
		node.NoSession:       roster.NotCandidateNoSession,
		node.HasPriorityZero: roster.NotCandidatePriorityZero,
		node.IsLeaving:       roster.NotCandidateLeaving,
		node.IsResting:       roster.NotCandidateResting,
	} {
		a := &agent{inUse: &roster.Roster{}, node: node.New(node.Config{})}
		a.view = a.present(node.View{NotCandidate: why})
		if got := a.report().NotCandidate; got != word {
			t.Errorf("%s: it reports %q, want %q", why, got, word)
		}
	}
}
