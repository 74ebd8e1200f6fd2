package membership

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A pod is replaced under its old name: the voter is removed, then its successor is added.
func TestReplacedPod(t *testing.T) {
	s := voting(3)
	s.ends("uid-2")
	s.Pods[2].UID = "uid-2b"
	s.joins(2)
	s.unseen("uid-2")
	d := s.pass()
	if got := s.member(t, "p-2"); got.UID != "uid-2b" || got.Voter || s.voters() != "p-0 p-1" ||
		d.Why != VoterMissing {
		t.Fatalf("the old one is gone: %+v, voters %q (%q)", got, s.voters(), d.Why)
	}
	if m := s.member(t, "p-2"); m.StateID != "" {
		t.Errorf("a process that does not vote has no state directory on the roster: %+v", m)
	}
	s.pass()
	s.acknowledge()
	if d = s.pass(); s.voters() != "p-0 p-1" || d.Again != Outlast(2*second) {
		t.Fatalf("acknowledged: voters %q, again in %v", s.voters(), d.Again)
	}
	s.later(Outlast(2 * second))
	d = s.pass()
	if m := s.member(t, "p-2"); s.voters() != "p-0 p-1 p-2" || m.StateID != "m" ||
		d.Why != VoterJoined {
		t.Errorf("two leases later: voters %q, agents are told of %+v (%q)", s.voters(), m, d.Why)
	}
}

func TestScale(t *testing.T) {
	s := voting(3)
	for i := 3; i < 7; i++ {
		s.Pods = append(s.Pods, podNumber(i))
		s.joins(i)
	}
	var all []string
	settle := func() {
		for range 20 {
			s.acknowledge()
			was := s.voters()
			d := s.pass()
			if s.voters() != was {
				all = append(all, s.voters())
			}
			s.later(max(d.Again, time.Millisecond))
		}
	}
	settle()
	for i := 3; i < 7; i++ { // and down again
		s.ends(s.Pods[i].UID)
		s.unseen(s.Pods[i].UID)
	}
	s.drop(3)
	settle()
	want := "p-0 p-1 p-2 p-3, p-0 p-1 p-2 p-3 p-4, p-0 p-1 p-2 p-3 p-4 p-5, p-0 p-1 p-2 p-3 p-4 p-5 p-6, p-0 p-1 p-2"
	if got := strings.Join(all, ", "); got != want {
		t.Errorf("voters went\n%s, want\n%s", got, want)
	}
}

// An edit makes the lease shorter. A voter that has promised under the longer one is waited for.
func TestShortenedLeaseIsWaitedFor(t *testing.T) {
	s := voting(3)
	lease := func(d time.Duration) { s.Lease, s.Settings = d, d.String() }
	lease(10 * second)
	s.pass()
	s.acknowledge()
	s.pass()
	s.later(time.Minute)
	s.pass()
	lease(second / 2)
	s.pass()
	longest := func() time.Duration { return s.Roster.LongestLease }
	if longest() != 10*second {
		t.Fatalf("recorded as the longest is %v", longest())
	}
	s.ends("uid-2")
	s.drop(2)
	s.loses(1, 0) // it does not hear of the edit
	s.acknowledge()
	s.later(9 * time.Second)
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("nine seconds after it has ended p-2 is removed: voters %q", s.voters())
	}
	s.later(Outlast(10 * second))
	if s.pass(); s.voters() != "p-0 p-1" || longest() != 10*second {
		t.Fatalf(
			"voters %q, the longest lease %v; want p-2 removed, and the lease that p-1 may have promised",
			s.voters(),
			longest(),
		)
	}
	s.joins(1)
	s.acknowledge()
	if d := s.pass(); d.Again != Outlast(10*second) {
		t.Fatalf("all use the new lease: again in %v", d.Again)
	}
	s.later(Outlast(10 * second))
	generation := s.Roster.Generation
	if d := s.pass(); longest() != second/2 || s.Roster.Generation != generation ||
		d.Why != Recorded {
		t.Errorf(
			"the longest lease is %v, generation %d after %d (%q): want 500 ms without a new roster",
			longest(),
			s.Roster.Generation,
			generation,
			d.Why,
		)
	}
}

// The longest lease shrinks when every voter uses the shorter one, and not when a majority does.
func TestShortenedLeaseWaitsForEveryVoter(t *testing.T) {
	s := voting(3)
	s.Lease, s.Settings = second/2, "shorter"
	s.pass()
	s.loses(2, 0)
	s.acknowledge()
	s.pass()
	s.later(time.Hour)
	if s.pass(); s.Roster.LongestLease != second {
		t.Fatalf("one voter has not taken the shorter lease, and the longest is %v",
			s.Roster.LongestLease)
	}
	s.joins(2)
	s.acknowledge()
	s.pass()
	s.later(Outlast(second))
	if s.pass(); s.Roster.LongestLease != second/2 {
		t.Errorf("all have taken it, and the longest is %v", s.Roster.LongestLease)
	}
}

// The shorter lease counts from when all voters use it, and not from when they used the roster
// before, even if all of them take the new one between two passes.
func TestShortenedLeaseCountsFromItsRoster(t *testing.T) {
	s := voting(3)
	s.later(time.Hour)
	s.pass()
	s.Lease, s.Settings = second/2, "shorter"
	s.pass()
	s.acknowledge()
	if s.pass(); s.Roster.LongestLease != second {
		t.Fatalf("all have just taken the shorter lease, and the longest is %v",
			s.Roster.LongestLease)
	}
	s.later(Outlast(second))
	if s.pass(); s.Roster.LongestLease != second/2 {
		t.Errorf("a lease later the longest is %v", s.Roster.LongestLease)
	}
}

// A voter whose state directory changes with every report makes one change, not a roster with every
// report.
func TestAlternatingStateDirectory(t *testing.T) {
	s := voting(3)
	rosters := 0
	for i := range 100 {
		s.later(10 * time.Millisecond)
		s.edit(2, func(r *Report) { r.StateID = fmt.Sprintf("m%d", i%2) })
		s.acknowledge()
		if s.pass().Persist {
			rosters++
		}
	}
	if rosters != 1 || s.voters() != "p-0 p-1" {
		t.Errorf("%d rosters within a second, voters %q", rosters, s.voters())
	}
}

// The pods of all voters are gone, and nothing proves that they have ended. Time alone does, and the
// group is looked at again then.
func TestALostGroupWaitsForItsCertificates(t *testing.T) {
	s := voting(3)
	s.loses(0, 0).loses(1, 0).loses(2, 0)
	s.drop(0)
	for passes := 0; s.voters() != ""; passes++ {
		d := s.pass()
		if passes > 10 || d.Again == 0 && s.voters() != "" {
			t.Fatalf("after %d passes voters are %q, and the next one is in %v", passes, s.voters(), d.Again)
		}
		s.later(d.Again)
	}
}

// While the clocks differ, nobody's end is known by them. They are compared again.
func TestClocksAreComparedAgain(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.drop(2)
	s.later(time.Hour)
	s.ClockAgrees = false
	s.pass()
	if d := s.pass(); d.Again != clocksAgain {
		t.Errorf("the next pass is in %v, want %v", d.Again, clocksAgain)
	}
}

// A pod that is gone is recorded with the time, without a new roster for the agents.
func TestGonePodIsRecorded(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.drop(2)
	s.later(1500 * time.Millisecond)
	s.pass()
	m := s.member(t, "p-2")
	if !m.Voter || !m.GoneSince.Equal(s.Now.Truncate(time.Second)) {
		t.Errorf("recorded %+v", m)
	}
	s.later(time.Hour)
	if s.pass(); !s.member(t, "p-2").GoneSince.Equal(m.GoneSince) {
		t.Errorf("an hour later: gone since %v, was %v", s.member(t, "p-2").GoneSince, m.GoneSince)
	}
}

// A manager whose clock differs from the API server's records no time that the next one would
// believe.
func TestGonePodAndAWrongClock(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.drop(2)
	right := s.Now
	s.Now, s.ClockAgrees = right.Add(-48*time.Hour), false
	s.pass()
	s.Now, s.ClockAgrees = right, true
	s.state = State{}
	s.pass()
	if s.endOf("uid-2") != (proof{}) || !s.member(t, "p-2").GoneSince.Equal(right.Truncate(second)) {
		t.Errorf("gone since %v, known to have ended: %+v", s.member(t, "p-2").GoneSince,
			s.state.voters)
	}
}

// A manager that knows that a voter's certificates have expired knows it still after a restart.
func TestGoneSinceOutlastsTheManager(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.drop(2)
	was := s.Now.Add(-CertificatesEnd - time.Second).Truncate(time.Second)
	s.persisted("p-2", func(m *Member) { m.GoneSince = was })
	s.pass()
	if s.pass(); s.endOf("uid-2") == (proof{}) || !s.member(t, "p-2").GoneSince.Equal(was) {
		t.Fatalf("known to have ended: %+v, gone since %v", s.state.voters,
			s.member(t, "p-2").GoneSince)
	}
	s.state = State{}
	if s.pass(); s.endOf("uid-2") == (proof{}) {
		t.Error("after a restart nothing is known of its end")
	}
}

// A group grows to more pods than a roster holds, counting voters whose pods are gone: they keep
// their place.
func TestVotersKeepTheirPlace(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.Pods = append(s.Pods[:2], newScene(101).Pods[3:]...)
	s.pass()
	if len(s.Roster.Members) != MaxMembers || s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("%d members, voters %q", len(s.Roster.Members), s.voters())
	}
}

// A voter that says that it leaves is let go while it still answers: so nobody waits for its lease.
func TestVoterThatLeavesIsLetGo(t *testing.T) {
	leaving := func(r *Report) { r.Leaving = true }
	s := voting(3)
	s.edit(2, leaving)
	if d := s.pass(); s.voters() != "p-0 p-1" || len(d.Lost) > 0 {
		t.Errorf("voters %q, lost %v", s.voters(), d.Lost)
	}
	s = voting(2)
	s.edit(0, leaving)
	s.edit(1, leaving)
	if d := s.pass(); s.voters() != "p-0 p-1" || len(d.Lost) > 0 {
		t.Errorf("both leave: voters %q, lost %v", s.voters(), d.Lost)
	}
}

// Any generation since the last change of voters acknowledges it, from a majority of them, with the
// state directory that the roster names, and only up to the newest one.
func TestAcknowledgement(t *testing.T) {
	theNewest := func(r *Report, newest int64) { r.Generation = newest }
	for _, test := range []struct {
		name string
		of   int // so many of the four voters
		what func(r *Report, newest int64)
		acks bool
	}{
		{"the newest", 3, theNewest, true},
		{"the newest, from half of them", 2, theNewest, false},
		{"the newest, from one", 1, theNewest, false},
		{"one since the last change of voters", 3, func(r *Report, newest int64) { r.Generation = newest - 1 }, true},
		{"one before the last change of voters", 3, func(r *Report, newest int64) { r.Generation = newest - 2 }, false},
		{"one that there is not yet", 3, func(r *Report, newest int64) { r.Generation = newest + 1 }, false},
		{"with another state directory", 3,
			func(r *Report, newest int64) { r.Generation, r.StateID = newest, "" }, false},
	} {
		s := voting(3)
		s.Pods = append(s.Pods, podNumber(3))
		s.joins(3)
		s.pass() // p-3 votes, too
		s.pass()
		s.Settings = "another" // which makes another generation, in the same second
		s.pass()
		for i := range test.of {
			s.edit(i, func(r *Report) { test.what(r, s.Roster.Generation) })
		}
		if s.pass(); s.state.acknowledged.IsZero() == test.acks {
			t.Errorf("%s: acknowledged since %v, want it: %v", test.name, s.state.acknowledged,
				test.acks)
		}
	}
}

// When a candidate says that the ballots of the newest generation are used up, there is another
// generation; one for each that is.
func TestSpentBallotsMakeAGeneration(t *testing.T) {
	spent := func(s *scene, pod int) { s.edit(pod, func(r *Report) { r.BallotsSpent = true }) }
	for _, test := range []struct {
		name string
		what func(*scene)
		next bool
	}{
		{"nobody says so", func(*scene) {}, false},
		{"one says so", func(s *scene) { spent(s, 2) }, true},
		{"one said so, and does not report any more", func(s *scene) { spent(s, 2); s.loses(2, 0) }, false},
		{"of an older generation", func(s *scene) {
			spent(s, 2)
			s.edit(2, func(r *Report) { r.Generation-- })
		}, false},
		{"one that is not on the roster", func(s *scene) {
			s.set(Report{UID: "uid-9", StateID: "m", Connected: true, BallotsSpent: true,
				Generation: s.Roster.Generation})
		}, false},
		{"a pod that waits for the place of an earlier one", func(s *scene) {
			s.loses(1, 0).loses(2, 0)
			s.Pods[2].UID = "new"
			s.pass()
			s.set(Report{UID: "new", StateID: "m", Connected: true, BallotsSpent: true})
			s.acknowledge()
			s.later(time.Minute)
		}, false},
		{"one that never coordinates", func(s *scene) {
			s.Pods[2].Priority = 0
			s.pass()
			s.acknowledge()
			s.later(time.Minute)
			spent(s, 2)
		}, false},
		{"one says so of a generation that is new", func(s *scene) {
			r := *s.Roster
			r.Generation = int64(s.Now.Sub(GenerationsBegin) / time.Second)
			s.Roster = &r
			s.acknowledge()
			spent(s, 2)
		}, false},
		{"the same, and the manager's clock is ahead", func(s *scene) {
			r := *s.Roster
			r.Generation = int64(s.Now.Sub(GenerationsBegin) / time.Second)
			s.Roster, s.Date = &r, s.Now
			s.later(time.Hour)
			s.acknowledge()
			spent(s, 2)
		}, false},
		{"while a majority follows somebody", func(s *scene) {
			for i := range 2 {
				s.edit(i, func(r *Report) { r.Coordinator = "p-1" })
			}
			spent(s, 2)
		}, false},
		{"while they follow different ones", func(s *scene) {
			for i := range 2 {
				s.edit(i, func(r *Report) { r.Coordinator = s.Pods[i].Name })
			}
			spent(s, 2)
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voting(3)
			test.what(s)
			was := s.Roster
			d := s.pass()
			if d.Persist != test.next ||
				test.next &&
					(d.Roster.Generation <= was.Generation || d.Roster.Digest != was.Digest || d.Why != BallotsSpent) {
				t.Fatalf("recorded %+v after %+v (%q)", d.Roster, was, d.Why)
			}
			if s.pass().Persist {
				t.Errorf("the agents still use the old one: recorded %+v", s.Roster)
			}
		})
	}
	classic := newScene(3).joins(0, 1, 2)
	classic.Guarded = false
	classic.pass()
	classic.acknowledge()
	spent(classic, 2)
	if d := classic.pass(); d.Persist {
		t.Errorf("a Classic group has no ballots: recorded %+v", d.Roster)
	}
}

// Agents that left have ended: they count where a majority is to acknowledge the last change, and the
// group is looked at again when nothing that they promised can run.
func TestAgentsThatLeftAcknowledge(t *testing.T) {
	s := voting(3)
	for i := range 3 { // no voter is removed meanwhile
		s.edit(i, func(r *Report) { r.Generation = 0 })
	}
	s.state.acknowledged = time.Time{}
	for i := 1; i < 3; i++ {
		s.deletes(i, s.Now, time.Minute)
	}
	s.pass()
	s.pass()
	for i := 1; i < 3; i++ {
		s.edit(i, func(r *Report) { r.Leaving, r.Left, r.Generation = true, true, s.Roster.Generation })
		s.loses(i, 0)
	}
	r := *s.Roster
	r.Generation++
	s.Roster, s.state.acknowledged, s.state.generation = &r, time.Time{}, r.Generation
	if s.pass(); !s.state.acknowledged.Equal(s.Now) {
		t.Errorf("they have ended: acknowledged since %v", s.state.acknowledged)
	}
	if d := s.pass(); d.Again != Outlast(second) {
		t.Errorf("they have ended: again in %v", d.Again)
	}
}

// The same state and facts give the same result, and neither is changed.
func TestStepIsPure(t *testing.T) {
	describe := func(r Roster) string {
		var w StepDown
		if r.StepDown != nil {
			w, r.StepDown = *r.StepDown, nil
		}
		return fmt.Sprintf("%+v %+v", r, w)
	}
	decided := func(s *scene) string {
		state, d := Step(s.state, &s.Facts)
		r := describe(*d.Roster)
		d.Roster, state.roster = nil, nil
		return fmt.Sprintf("%+v\n%s\n%+v", d, r, state)
	}
	for name, what := range map[string]func(*scene){
		"voters come and go": func(s *scene) {
			s.ends("uid-2")
			s.Pods = append(s.Pods, podNumber(3))
			s.joins(3)
		},
		"the roster is as the status has it": func(s *scene) {
			for _, pod := range s.Pods {
				s.persisted(pod.Name, func(m *Member) { m.Address, m.Priority = "", 0 })
			}
		},
		"a witness is known from the roster": func(s *scene) {
			s.persisted("p-1", func(m *Member) { m.Witness = true })
		},
		"a request ends": func(s *scene) {
			s.pass()
			s.coordinates(1, 8)
		},
	} {
		s := asked()
		what(s)
		facts := func() string { return fmt.Sprintf("%+v %s", s.Facts, describe(*s.Roster)) }
		before, first := facts(), decided(s)
		for range 10 {
			if again := decided(s); again != first {
				t.Fatalf("%s: decided\n%s\nand\n%s", name, first, again)
			}
		}
		if after := facts(); after != before {
			t.Errorf("%s: the facts were\n%s, and are\n%s", name, before, after)
		}
	}
}

// The simulator calls Step thousands of times a second.
func BenchmarkStep(b *testing.B) {
	s := voting(5)
	b.ReportAllocs()
	for b.Loop() {
		s.state, _ = Step(s.state, &s.Facts)
	}
}

// What is known of a voter is about a pod with one state directory. Another manager has removed it and
// added it again with another one, since this manager looked last: nothing proves that one's end, and
// a majority has to acknowledge anew.
func TestAVoterThatAnotherManagerReplaced(t *testing.T) {
	s := voting(3)
	s.loses(2, 0)
	s.ends("uid-2")
	if s.pass(); !s.endOf("uid-2").final {
		t.Fatal("the kubelet's word is no proof")
	}
	s.Ended = nil
	s.edit(2, func(r *Report) { r.StateID, r.Connected = "new", true })
	s.persisted("p-2", func(m *Member) { m.StateID = "new" })
	s.Roster.Generation += 2
	s.acknowledge()
	if s.pass(); s.state.voters[2].end != (proof{}) || !s.state.acknowledged.Equal(s.Now) {
		t.Errorf("known of its end: %+v; acknowledged since %v", s.state.voters[2].end,
			s.state.acknowledged)
	}
}

// A roster that this manager has not made acknowledges nothing: who speaks of the far future lies.
func TestTheFarFutureAcknowledgesNothing(t *testing.T) {
	s := newScene(3).joins(0, 1, 2)
	s.pass()
	for i := range 2 {
		s.edit(i, func(r *Report) { r.Generation = 1 << 40 })
	}
	if d := s.pass(); d.SetBack != 0 || s.voters() == "" || !s.state.acknowledged.IsZero() {
		t.Errorf("voters %q, acknowledged since %v: %+v", s.voters(), s.state.acknowledged, d)
	}
}

// A generation of another group object acknowledges nothing, whatever its number, nor does such an
// agent ask for ballots of this one. Before the first voters it is waited for: what it promised
// there may still run.
func TestReportsOfAnotherGroupObject(t *testing.T) {
	elsewhere := func(r *Report) { r.OtherGroup = true }
	s := voting(4)
	s.edit(0, func(r *Report) { r.Leaving, r.Connected = true, false })
	s.Pods = s.Pods[1:]
	s.unseen("uid-0")
	s.pass()
	if s.member(t, "p-3"); s.voters() != "p-1 p-2 p-3" {
		t.Fatalf("voters %q", s.voters())
	}
	s.acknowledge()
	for i := range 3 {
		s.edit(i, elsewhere)
	}
	if s.pass(); !s.state.acknowledged.IsZero() {
		t.Error("a generation of another group object counts as acknowledged")
	}
	for i := range 3 {
		s.edit(i, func(r *Report) { r.OtherGroup, r.BallotsSpent = true, true })
	}
	s.later(time.Minute)
	if d := s.pass(); d.Why == BallotsSpent {
		t.Error("an agent of another group object has spent the ballots of this one")
	}

	s = newScene(3).joins(0)
	s.pass()
	s.joins(1, 2)
	s.edit(0, func(r *Report) { r.OtherGroup, r.Generation = true, s.Roster.Generation+7 })
	for range 4 {
		s.pass()
		s.later(Outlast(s.Lease))
	}
	if s.pass(); s.voters() != "" {
		t.Errorf("voters %q while one of them is in another group object", s.voters())
	}
	s.edit(0, func(r *Report) { r.OtherGroup, r.Generation = false, 0 })
	s.pass()
	s.later(Outlast(s.Lease))
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Errorf("voters %q", s.voters())
	}
}
