package group

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
)

// What is told late completes the newest entry, and nothing that is gone is lost.
func TestElectionIsCompleted(t *testing.T) {
	play(t, newScene(3).sees("", 0, 1, 2).published(), []step{
		{"nobody tells yet", func(s *scene) { s.sees("p-2", 0, 1, 2) }, ">p-2"},
		{"the coordinator tells", func(s *scene) { s.tells(2, "p-0/1/1", "p-0", "Asked", costing(3, time.Millisecond)) },
			">p-2(p-0  3 in 1)"},
		{"one that missed the announcement tells", func(s *scene) {
			s.tells(1, "p-0/1/1", "p-1", "AnnouncementMissing", costing(1, 9*time.Millisecond))
		}, ">p-2(p-1 AnnouncementMissing 4 in 9)"},
		{"the initiator tells", func(s *scene) { s.tells(0, "p-0/1/1", "p-0", "CoordinatorUnreachable") },
			">p-2(p-0 CoordinatorUnreachable 6 in 9)"},
		{"the initiator is gone", func(s *scene) { delete(s.sightings, "uid-0") }, ">p-2(p-0 CoordinatorUnreachable 6 in 9)"},
		{"a new manager", func(s *scene) { s.restarted() }, ">p-2(p-0 CoordinatorUnreachable 6 in 9)"},
		{"another election is another one", func(s *scene) {
			s.tells(1, "p-0/1/2", "p-1", "Withdrawn", costing(50, time.Hour))
		}, ">p-2(p-0 CoordinatorUnreachable 6 in 9)"},
		{"there is no coordinator any more", func(s *scene) {
			s.sees("", 0, 1, 2).tells(0, "p-0/1/1", "p-0", "Withdrawn")
		}, ">p-2(p-0 CoordinatorUnreachable 6 in 9)"},
		{"the next one", func(s *scene) { s.sees("p-1", 0, 1).tells(1, "p-1/1/1", "p-2", "Withdrawn") },
			"p-2>p-1(p-2 Withdrawn 2 in 4) >p-2(p-0 CoordinatorUnreachable 6 in 9)"},
	})
}

// An account is what a tenant's agent says.
func TestAccountsThatAreNotShown(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*roster.Election)
		want string
	}{
		"a reason that the API does not know": {func(e *roster.Election) { e.Reason = "Whim" }, ">p-2(p-0  6 in 4)"},
		"an initiator of another group": {func(e *roster.Election) { e.Initiator = "other-0" },
			">p-2( CoordinatorUnreachable 6 in 4)"},
		"a decision that is a text":  {func(e *roster.Election) { e.Decision = "see http://example.com" }, ">p-2"},
		"a decision that names none": {func(e *roster.Election) { e.Decision = "/0/0" }, ">p-2"},
		"more messages than there are numbers": {func(e *roster.Election) { e.Sent = 1<<31 - 1 },
			">p-2(p-0 CoordinatorUnreachable 2147483647 in 4)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(3).sees("", 0, 1, 2).published().sees("p-2", 0, 1, 2)
			for i := range 3 {
				s.tells(i, "p-0/1/1", "p-0", "CoordinatorUnreachable", test.edit)
			}
			if got := s.write(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	s := newScene(3)
	s.group.UID = "this"
	s.sees("p-2", 0, 1, 2).published()
	s.tells(0, "p-0/1/1", "p-0", "Withdrawn", costing(50, time.Hour)).tells(2, "p-0/1/1", "p-0", "Asked")
	s.edit(0, func(r *roster.Report) {
		r.GroupUID = "that"
		*r = about(s.group.UID, *r)
	})
	if got, want := s.write(), ">p-2(p-0  2 in 4)"; got != want {
		t.Errorf("one tells of another group object: got %s, want %s", got, want)
	}
}

// An initiator that handed over and is gone is one of the group's all the same.
func TestInitiatorThatIsGone(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published().sees("p-1", 0, 1)
	s.pods = s.pods[:2]
	s.write()
	if got, want := s.tells(1, "p-1/1/1", "p-2", "Withdrawn").write(), "p-2>p-1(p-2 Withdrawn 2 in 4) >p-2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
