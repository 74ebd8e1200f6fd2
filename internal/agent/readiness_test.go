package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// word is a ManagerEnd of a test.
type word struct {
	hold     roster.Hold
	admitted bool
	trouble  string
}

func (w *word) Standing() (roster.Hold, bool, string) { return w.hold, w.admitted, w.trouble }

// A pod is ready once its process votes, or once the manager has admitted it and says that the group
// cannot take it. Until then the probe says in a sentence what it waits for.
func TestReadiness(t *testing.T) {
	const now = time.Hour
	clocks := ClocksFunc(func() lease.Reading { return lease.Reading{Boot: now} })
	admitted := &word{admitted: true}
	votes := View{Name: "p1", Safety: roster.Guarded, Votes: true}
	silent := votes
	silent.VotesFrom = now + 600*time.Millisecond
	for _, c := range []struct {
		name    string
		view    View
		manager ManagerEnd
		before  bool
		waits   string // a part of the sentence; empty: it is ready
	}{
		{"nobody has admitted it", View{}, &word{}, false, "waits for the manager to admit it"},
		{"no manager answers", View{}, &word{trouble: "connection refused"}, false, "connection refused"},
		{"the group does not have it yet", View{}, admitted, false, "waits for a roster that names it"},
		{"no further pod fits", View{}, &word{admitted: true, hold: roster.Hold{Reason: "101 pods carry the label"}},
			false, "101 pods"},
		{"it is on the roster", View{Name: "p1", Safety: roster.Guarded}, admitted, false, "until it is a voter"},
		{"it is on the roster, and the manager is gone", View{Name: "p1", Safety: roster.Guarded},
			&word{trouble: "no route"}, false, "no route"},
		{"the majority is lost", View{Name: "p1", Safety: roster.Guarded},
			&word{admitted: true, hold: roster.Hold{Reason: "p2, p3", Ready: true}}, false, ""},
		{"the majority was lost, and it is not admitted", View{},
			&word{hold: roster.Hold{Reason: "p2, p3", Ready: true}}, false, "to admit it"},
		{"it is a new voter", silent, admitted, false, "may vote in 600ms"},
		{"it votes", votes, admitted, false, ""},
		{"it votes, and no manager answers", votes, &word{trouble: "no route"}, false, ""},
		{"Classic", View{Name: "p1", Safety: roster.Classic}, &word{}, false, ""},
		{"a file, before it takes part", View{}, nil, false, "has not begun"},
		{"a file makes it no voter", View{Name: "p1", Safety: roster.Guarded}, nil, false, ""},
		{"a file makes it a new voter", silent, nil, false, "may vote in 600ms"},
		{"it was ready before its container was restarted", View{}, &word{trouble: "no route"}, true, ""},
	} {
		views := NewViews()
		views.publish(c.view)
		r := NewReadiness(views, NewLedger(clocks), c.manager, c.before)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		body := w.Body.String()
		if ready := c.waits == ""; (w.Code == http.StatusOK) != ready || !ready && !strings.Contains(body, c.waits) {
			t.Errorf("%s: %d %q, want %q", c.name, w.Code, body, c.waits)
		}
	}
}

// A pod that was ready stays ready when it loses its roster, its manager, or its place among the voters.
func TestWhoWasReadyStaysReady(t *testing.T) {
	views, manager := NewViews(), &word{admitted: true}
	r := NewReadiness(views, NewLedger(MachineClocks{}), manager, false)
	views.publish(View{Name: "p1", Safety: roster.Guarded, Votes: true})
	if waits := r.Waits(); waits != "" {
		t.Fatalf("it votes: %s", waits)
	}
	*manager = word{trouble: "no route"}
	for _, v := range []View{{Name: "p1", Safety: roster.Guarded}, {}} {
		views.publish(v)
		if waits := r.Waits(); waits != "" {
			t.Errorf("later: %s", waits)
		}
	}
}

// The roster in the state directory tells whether the pod was ready before its container was restarted.
func TestWasReady(t *testing.T) {
	kept := func(safety string, voter bool) *roster.Roster {
		return &roster.Roster{Safety: safety, Processes: []roster.Process{
			{Name: "p1", StateID: "other", Voter: true}, {Name: "p2", StateID: "own", Voter: voter},
		}}
	}
	for _, c := range []struct {
		name string
		kept *roster.Roster
		want bool
	}{
		{"none", nil, false},
		{"a voter", kept(roster.Guarded, true), true},
		{"no voter", kept(roster.Guarded, false), false},
		{"Classic", kept(roster.Classic, false), true},
	} {
		if got := WasReady(c.kept, "own"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
