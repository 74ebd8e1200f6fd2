package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// tells has an agent give an account of an election; 2 messages and 4 ms, unless edited.
func (s *scene) tells(pod int, decision, initiator, reason string, edit ...func(*roster.Election)) *scene {
	e := &roster.Election{
		Decision:  decision,
		Initiator: initiator,
		Reason:    reason,
		Sent:      2,
		Duration:  4 * time.Millisecond,
	}
	for _, change := range edit {
		change(e)
	}
	s.edit(pod, func(r *roster.Report) { r.LastElection = e })
	return s
}

// under is the epoch under which an agent says that it obtained its lease.
func under(epoch int64) func(*roster.Election) { return func(e *roster.Election) { e.Epoch = epoch } }

func costing(sent int, duration time.Duration) func(*roster.Election) {
	return func(e *roster.Election) { e.Sent, e.Duration = sent, duration }
}

// write publishes what is decided now, a second after the pass before, and returns the entries,
// newest first, such as p-2>p-1@7(p-0 Withdrawn 6 in 9): from, to, epoch, initiator, reason,
// messages, milliseconds.
func (s *scene) write() string {
	s.later(time.Second)
	s.shown()
	var all []string
	for _, e := range s.observation.published.Elections {
		text := e.From + ">" + e.To
		if e.Epoch > 0 {
			text += fmt.Sprintf("@%d", e.Epoch)
		}
		if e.Messages != nil {
			text += fmt.Sprintf("(%s %s %d in %d)", e.Initiator, e.Reason, *e.Messages,
				*e.DurationMilliseconds)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// restarted is the scene as a manager that starts now finds it, when all agents are back.
func (s *scene) restarted() *scene {
	s.state = state{begun: s.now, membership: s.membership, showing: true}
	return s
}

// step is a change of a scene, and the entries that the status has then.
type step struct {
	what string
	do   func(*scene)
	want string
}

func play(t *testing.T, s *scene, steps []step) {
	t.Helper()
	for _, now := range steps {
		now.do(s)
		if got := s.write(); got != now.want {
			t.Errorf("%s:\ngot  %s\nwant %s", now.what, got, now.want)
		}
		was := s.observation.published
		if s.write(); changed(s.observation.published, was) {
			t.Errorf("%s: the status changes again when nothing has changed: %+v, was %+v", now.what,
				s.observation.published.Elections, was.Elections)
		}
	}
}

// An entry says what one election among the processes of the roster takes at most, then and for
// good.
func TestMessagesAtMost(t *testing.T) {
	s := newScene(3).sees("", 0, 1, 2).published()
	s.sees("p-2", 0, 1, 2)
	s.write()
	entry := func() v1.ElectionStatus { return s.observation.published.Elections[0] }
	if most := entry().MessagesAtMost; most == nil || *most != 8 {
		t.Fatalf("of an election by Bully among three processes: %v messages at most, want 8", most)
	}
	s.observation.published.Roster.Members = s.observation.published.Roster.Members[:2]
	s.write()
	if most := entry().MessagesAtMost; *most != 8 {
		t.Errorf("when one process has gone: %d messages at most, want 8 still", *most)
	}
}

func TestElectionsOfAClassicGroup(t *testing.T) {
	elects := func(coordinator, decision string, pods ...int) func(*scene) {
		return func(s *scene) {
			s.sees(coordinator, pods...)
			for _, i := range pods {
				s.tells(i, decision, "p-0", "CoordinatorUnreachable")
			}
		}
	}
	none := func(s *scene) { s.sees("", 0, 1, 2) }
	const first = ">p-2(p-0 CoordinatorUnreachable 6 in 4)"
	for name, steps := range map[string][]step{
		"another process, at once": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"p-2 is killed", elects("p-1", "p-0/1/2", 0, 1), "p-2>p-1(p-0 CoordinatorUnreachable 4 in 4) " + first},
		},
		"another process, and none in between": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"none", none, first},
			{"the next", elects("p-1", "p-0/1/2", 0, 1), "p-2>p-1(p-0 CoordinatorUnreachable 4 in 4) " + first},
		},
		"the same, and none in between": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"none", none, first},
			{"the same again", elects("p-2", "p-0/1/2", 0, 1, 2), "p-2>p-2(p-0 CoordinatorUnreachable 6 in 4) " + first},
		},
		"the same announcement is the same election": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"none", none, first},
			{"a new manager", func(s *scene) { s.restarted() }, first},
			{"the same again", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"none again", none, first},
			{"its followers tell so", func(s *scene) {
				elects("p-2", "p-0/1/1", 0, 1, 2)(s)
				s.loses(2, time.Hour)
			}, first},
		},
		"nobody can tell which one it was": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"none", none, first},
			{"the same again", func(s *scene) { s.sees("p-2", 0, 1, 2) }, "p-2>p-2 " + first},
			{"the account comes, and is of the earlier one", elects("p-2", "p-0/1/1", 0, 1, 2), "p-2>p-2 " + first},
		},
		"an election that confirms the coordinator": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"p-0 has restarted", func(s *scene) { s.tells(2, "p-0/2/1", "p-0", "Started", costing(50, time.Hour)) }, first},
			{"a new manager", func(s *scene) { s.restarted() }, first},
		},
		"to and fro": {
			{"the first", elects("p-2", "p-0/1/1", 0, 1, 2), first},
			{"another one is shown", elects("p-1", "p-0/1/2", 0, 1), "p-2>p-1(p-0 CoordinatorUnreachable 4 in 4) " + first},
			{"the first again, by the old announcement", elects("p-2", "p-0/1/1", 0, 1, 2),
				"p-1>p-2 p-2>p-1(p-0 CoordinatorUnreachable 4 in 4) " + first},
		},
	} {
		t.Run(name, func(t *testing.T) { play(t, newScene(3).sees("", 0, 1, 2).published(), steps) })
	}
}

func TestElectionsOfAGuardedGroup(t *testing.T) {
	// holds has p-2 hold the lease since an epoch, by an announcement; all follow it under another
	// one.
	holds := func(since, epoch int64, decision string) func(*scene) {
		return func(s *scene) {
			s.holding("p-2", epoch, 0, 1, 2).tells(2, decision, "p-0", "CoordinatorUnreachable", under(since))
		}
	}
	none := func(s *scene) { s.at(roster.LeaseElecting, 0, 1, 2) }
	const first = ">p-2@7(p-0 CoordinatorUnreachable 2 in 4)"
	for name, steps := range map[string][]step{
		"an epoch that changes in place": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"a new generation", holds(7, 9, "p-0/1/1"), first},
			{"a new manager", func(s *scene) { s.restarted() }, first},
			{"another generation", holds(7, 12, "p-0/1/1"), first},
		},
		"a lapse, without another announcement": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"the same again", holds(8, 8, "p-0/1/1"), "p-2>p-2@8 " + first},
			{"once more, after a new generation", holds(10, 12, "p-0/1/1"), "p-2>p-2@12 p-2>p-2@8 " + first},
			{"a new manager", func(s *scene) { s.restarted() }, "p-2>p-2@12 p-2>p-2@8 " + first},
		},
		"a restart": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"none", none, first},
			{"the same again", holds(8, 8, "p-2/2/1"), "p-2>p-2@8(p-0 CoordinatorUnreachable 2 in 4) " + first},
		},
		"out of sight and back": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"none", none, first},
			{"the same again", holds(7, 7, "p-0/1/1"), first},
			{"none", none, first},
			{"the same again, and its epoch has changed in place", holds(7, 9, "p-0/1/1"), first},
		},
		"elected when the manager does not see it": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"its peers follow it under another epoch", func(s *scene) {
				s.holding("p-2", 9, 0, 1).loses(2, time.Hour)
			}, first},
			{"it is back, and it was a lapse", holds(8, 9, "p-0/1/1"), "p-2>p-2@9 " + first},
			{"none, and it is gone again", func(s *scene) { s.at(roster.LeaseElecting, 0, 1).loses(2, time.Hour) },
				"p-2>p-2@9 " + first},
			{"its peers follow it under another epoch", func(s *scene) {
				s.holding("p-2", 11, 0, 1).loses(2, time.Hour)
			}, "p-2>p-2@11 p-2>p-2@9 " + first},
			{"it is back", holds(10, 11, "p-0/1/1"), "p-2>p-2@11 p-2>p-2@9 " + first},
		},
		"no majority follows the new lease yet": {
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"one has obtained it", holds(8, 7, "p-2/2/1"), first},
			{"the others follow", holds(8, 8, "p-2/2/1"), "p-2>p-2@8(p-0 CoordinatorUnreachable 2 in 4) " + first},
		},
		"what is told first is of a lease that no majority follows yet": {
			{"the first", func(s *scene) { s.holding("p-2", 7, 0, 1, 2) }, ">p-2@7"},
			{"one has obtained it again", holds(8, 7, "p-2/2/1"), ">p-2@7"},
			{"the others follow", holds(8, 8, "p-2/2/1"), "p-2>p-2@8(p-0 CoordinatorUnreachable 2 in 4) >p-2@7"},
		},
		"a leaseholder that lies": { // an entry for each epoch that a majority has voted for, at most
			{"the first", holds(7, 7, "p-0/1/1"), first},
			{"a lease of tomorrow", holds(1<<50, 7, "p-0/1/2"), first},
			{"an epoch that was none of its own", holds(10, 12, "p-0/1/1"), "p-2>p-2@12 " + first},
			{"and one more", holds(11, 12, "p-0/1/1"), "p-2>p-2@12 " + first},
			{"and one more", holds(12, 12, "p-0/1/1"), "p-2>p-2@12 " + first},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := voting(3)
			s.begun = noon.Add(-time.Hour)
			play(t, s, steps)
		})
	}
}

func TestElectionsAreBounded(t *testing.T) {
	s := newScene(3).sees("", 0, 1, 2).published()
	for i := range 25 {
		s.sees(fmt.Sprintf("p-%d", i%2), 0, 1, 2)
		s.write()
	}
	all := s.observation.published.Elections
	if len(all) != maxElections || all[0].To != "p-0" || all[9].To != "p-1" || !all[0].At.After(all[1].At.Time) {
		t.Errorf("%d elections: %+v", len(all), all)
	}
	if e := all[0]; !e.At.Equal(&s.observation.published.Coordinator.Since) || e.Algorithm != v1.Bully {
		t.Errorf("the newest is %+v, the coordinator %+v", e, s.observation.published.Coordinator)
	}
}

// What an older manager published has no elections, and what a newer one published may have more of
// them, and words that this one does not know: neither freezes the status.
func TestElectionsOfAnotherVersion(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published()
	s.observation.published.Elections = nil
	if got := s.write(); got != "" {
		t.Errorf("nothing has changed, and there is an election: %s", got)
	}
	if got, want := s.sees("p-1", 0, 1, 2).write(), "p-2>p-1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	newer := v1.ElectionStatus{To: "p-1", Reason: "Whim", Algorithm: "Dice", ID: "p-1/1/1"}
	s.observation.published.Elections = nil
	for range maxElections + 1 {
		s.observation.published.Elections = append(s.observation.published.Elections, newer)
	}
	s.write()
	all := s.observation.published.Elections
	if len(all) != maxElections || all[9] != (v1.ElectionStatus{To: "p-1", ID: "p-1/1/1"}) {
		t.Errorf("%d elections: %+v", len(all), all)
	}
	asked := []v1.ElectionStatus{{To: "p-1", Reason: "Asked", Algorithm: v1.LeLann}}
	if got := readElections(asked); got[0] != asked[0] {
		t.Errorf("read %+v, want %+v", got, asked)
	}

	guarded := voting(3).holding("p-2", 7, 0, 1, 2).shown()
	guarded.observation.published.Elections = nil
	guarded.tells(2, "p-0/1/1", "p-0", "Started", under(7)).holding("p-2", 7, 0, 1)
	if got := guarded.write(); got != "" {
		t.Errorf("the lease goes on, and there is an election: %s", got)
	}
}

// A status that waits, because a manager starts or a budget is spent, adds nothing.
func TestElectionIsAddedWithTheStatus(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published().sees("p-1", 0, 1, 2)
	first := decideStatus(s.observation, rosterDecision{}).status
	s.later(time.Minute) // the write failed
	again := decideStatus(s.observation, rosterDecision{}).status
	if len(first.Elections) != 2 || len(again.Elections) != 2 ||
		!again.Elections[0].At.After(first.Elections[0].At.Time) ||
		len(s.observation.published.Elections) != 1 {
		t.Errorf("first %+v, then %+v; published %+v", first.Elections, again.Elections,
			s.observation.published.Elections)
	}
}
