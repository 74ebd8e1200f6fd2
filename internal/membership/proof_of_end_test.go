package membership

import (
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// What the kubelet has said stays, though the pod, and with it the word, is gone, and a report
// comes late.
func TestTheKubeletsWordStays(t *testing.T) {
	s := voting(3)
	s.loses(2, 0)
	s.ends("uid-2")
	s.pass()
	s.Ended = nil
	s.edit(2, func(r *Report) { r.Connected = true })
	s.later(Outlast(second))
	if s.pass(); s.voters() != "p-0 p-1" {
		t.Errorf("voters %q", s.voters())
	}
}

// It counts from when this manager learnt of it, also if it was busy with other groups since.
func TestTheEndOfAPodCountsFromWhenItWasLearntOf(t *testing.T) {
	s := voting(3)
	s.loses(2, 0)
	s.ends("uid-2")
	s.later(Outlast(second))
	if s.pass(); s.voters() != "p-0 p-1" {
		t.Errorf("voters %q", s.voters())
	}
}

func TestKnownToHaveEnded(t *testing.T) {
	// its deletion begins by the API server's clock, whatever the manager's shows
	deleting := func(s *scene, since time.Duration) { s.deletes(2, s.Now.Add(-since), 30*time.Second) }
	told := func(s *scene) { // a roster that gives it priority 0, and it has that
		s.pass()
		s.edit(2, func(r *Report) { r.Generation = s.Roster.Generation })
	}
	leave := func(s *scene) {
		s.edit(2, func(r *Report) { r.Left, r.Connected, r.Since = true, false, s.Now })
	}
	gone := func(s *scene, since time.Duration) {
		s.loses(2, 0)
		s.drop(2)
		s.persisted("p-2", func(m *Member) { m.GoneSince = s.Now.Add(-since) })
	}
	forgotten := func(m *Member) { m.Forgotten = true }
	for _, test := range []struct {
		name  string
		what  func(*scene)
		ended bool
	}{
		{"it does not report", func(s *scene) { s.loses(2, 0) }, false},
		{"the kubelet says so", func(s *scene) { s.loses(2, 0); s.ends("uid-2") }, true},
		{"the kubelet says so, then its pod is gone", func(s *scene) { s.ends("uid-2"); s.drop(2) }, true},
		{"the kubelet says so of another pod", func(s *scene) { s.loses(2, 0); s.ends("uid-9") }, false},
		{"a pod of a lost node is called Failed", func(s *scene) { s.loses(2, 0); s.Pods[2].Finished = true }, false},
		{"its pod is gone", func(s *scene) { s.loses(2, 0); s.drop(2) }, false},
		{"it said that it has left", leave, false},
		{"it said that it has left while its pod was being deleted", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			leave(s)
		}, true},
		{"it said that it is about to leave, and its connection broke: it may vote on", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			leave(s)
			s.edit(2, func(r *Report) { r.Leaving, r.Left = true, false })
		}, false},
		{"it has left, while another process is asked to step down", func(s *scene) {
			s.coordinates(0, 7)
			s.StepDown = StepDownRequest{
				ID:         "a",
				Generation: s.Roster.Generation,
				Process:    s.identity(0),
				Epoch:      7,
			}
			told(s)
			deleting(s, time.Second)
			told(s)
			leave(s)
		}, true},
		{"by its clock the deletion began long after it had left", func(s *scene) {
			deleting(s, -time.Minute)
			told(s)
			leave(s)
		}, true},
		{"it said that it has left before it was told of the deletion, and the clocks are a minute apart",
			func(s *scene) {
				leave(s)
				deleting(s, time.Minute)
			}, false},
		{"it was not told of the deletion, and left", func(s *scene) {
			deleting(s, time.Second)
			s.pass()
			leave(s)
		}, false},
		{"it has left, is connected, and has not said which state directory it has", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			s.edit(2, func(r *Report) { r.Left, r.StateID = true, "" })
		}, false},
		{"it was told of the deletion in another group object", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			leave(s)
			s.edit(2, func(r *Report) { r.OtherGroup = true })
		}, false},
		{"it has an even newer roster", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			s.Settings = "another algorithm"
			told(s)
			leave(s)
		}, true},
		{"it said that it has left, and later its pod was deleted", func(s *scene) {
			leave(s)
			s.later(10 * time.Second)
			deleting(s, 0)
		}, false},
		{"the same, and its priority was 0 anyway", func(s *scene) {
			s.Pods[2].Priority = 0
			told(s)
			leave(s)
			s.later(10 * time.Second)
			deleting(s, 0)
		}, false},
		{"its priority was 0 anyway, and it said that it has left when it had been told of the deletion", func(s *scene) {
			s.Pods[2].Priority = 0
			told(s)
			deleting(s, time.Second)
			told(s)
			leave(s)
		}, true},
		{"it said that it has left, and is still connected", func(s *scene) {
			deleting(s, 0)
			s.edit(2, func(r *Report) { r.Left = true })
		}, false},
		{"it said so, is still connected, and has not said which state directory it has", func(s *scene) {
			deleting(s, 0)
			s.edit(2, func(r *Report) { r.Left, r.StateID, r.Since = true, "", s.Now })
		}, false},
		{"its pod came back with another state directory", func(s *scene) {
			s.edit(2, func(r *Report) { r.StateID = "new" })
		}, false},
		{"the same, and then the kubelet says that the pod is over", func(s *scene) {
			s.edit(2, func(r *Report) { r.StateID = "new" })
			s.pass()
			s.ends("uid-2")
		}, false},
		{"the same, and nobody but the roster remembers the state directory", func(s *scene) {
			s.edit(2, func(r *Report) { r.StateID = "new" })
			s.pass()
			s.state = State{}
			s.unseen("uid-2")
			s.ends("uid-2")
		}, false},
		{"the agent with the other state directory leaves a pod that is being deleted", func(s *scene) {
			deleting(s, time.Second)
			told(s)
			leave(s)
			s.edit(2, func(r *Report) { r.StateID = "new" })
		}, false},
		{"an operator confirms it, and its pod came back with another state directory", func(s *scene) {
			s.edit(2, func(r *Report) { r.StateID = "new" })
			s.persisted("p-2", forgotten)
		}, true},
		{"it has not said which state directory it has", func(s *scene) {
			s.edit(2, func(r *Report) { r.StateID = "" })
		}, false},
		{"its pod is gone for a day, and so are its certificates", func(s *scene) {
			gone(s, CertificatesEnd+time.Second)
		}, true},
		{"the same, by a clock that nobody shares", func(s *scene) {
			gone(s, CertificatesEnd+time.Second)
			s.ClockAgrees = false
		}, false},
		{"its pod is gone for almost a day", func(s *scene) { gone(s, CertificatesEnd-time.Second) }, false},
		{"an operator confirms it", func(s *scene) { s.loses(2, 0); s.persisted("p-2", forgotten) }, true},
		{"an operator confirms it, but it is connected", func(s *scene) { s.persisted("p-2", forgotten) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voting(3)
			for i := range 3 { // no voter is removed meanwhile
				s.edit(i, func(r *Report) { r.Generation = 0 })
			}
			s.state.acknowledged = time.Time{}
			test.what(s)
			s.pass()
			known := 0
			for _, v := range s.state.voters {
				if v.end != (proof{}) {
					known++
				}
			}
			if ended := s.endOf("uid-2") != (proof{}); ended != test.ended || known > 1 {
				t.Errorf("known to have ended: %+v", s.state.voters)
			}
		})
	}
}

// endOf is what is known of the end of the voter of that pod.
func (s *scene) endOf(uid string) proof {
	for _, v := range s.state.voters {
		if v.uid == uid && v.stateID == "m" {
			return v.end
		}
	}
	return proof{}
}

// What was known of a voter's end is known when the last trace of its pod is gone; what an agent
// disproves by connecting again is not.
func TestProofsAreKept(t *testing.T) {
	s := voting(3)
	for i := range 3 { // nothing may change meanwhile
		s.edit(i, func(r *Report) { r.Generation = 0 })
	}
	s.state.acknowledged = time.Time{}
	s.deletes(2, s.Now, 0)
	s.pass()
	s.edit(2, func(r *Report) {
		r.Left, r.Connected, r.Since, r.Generation = true, false, s.Now, s.Roster.Generation
	})
	s.pass()
	s.drop(2)
	s.later(time.Second)
	s.pass()
	if end := s.endOf("uid-2"); !end.at.Equal(s.Now.Add(-time.Second)) {
		t.Errorf("it left, then its pod was gone: %+v", end)
	}
	s.set(Report{UID: "uid-2", StateID: "m", Leaving: true, Connected: true, Since: s.Now})
	s.pass()
	if end := s.endOf("uid-2"); end != (proof{}) {
		t.Errorf("it is connected, so it was deleted by force and runs all the same: %+v", end)
	}
}

// Certificates may last no longer than the rule waits.
func TestCertificatesEnd(t *testing.T) {
	if want := Outlast(identity.Lifetime) + 5*time.Minute; CertificatesEnd != want {
		t.Errorf("CertificatesEnd is %v, want %v", CertificatesEnd, want)
	}
}

func TestForgetIsBoundToARoster(t *testing.T) {
	s := voting(3)
	s.loses(1, time.Hour).loses(2, time.Hour)
	s.drop(1)
	d := s.pass() // records since when they are gone
	if len(d.Lost) != 2 || d.Lost[0] != "p-1" || d.Lost[1] != "p-2" {
		t.Fatalf("lost %q", d.Lost)
	}
	ask := func(generation int64, names ...string) {
		s.Forget = ForgetRequest{Generation: generation, Processes: map[Identity]bool{}}
		for _, name := range names {
			s.Forget.Processes[Identity{Name: name, UID: "uid-" + name[2:]}] = true
		}
	}
	generation := s.Roster.Generation
	for name, ask := range map[string]func(){
		"another roster": func() { ask(generation-1, "p-1", "p-2") },
		"another pod":    func() { ask(generation, "p-9") },
		"an earlier pod of the name": func() {
			s.Forget = ForgetRequest{
				Generation: generation,
				Processes:  map[Identity]bool{{Name: "p-1", UID: "uid-9"}: true},
			}
		},
		"one that is connected": func() { ask(generation, "p-0") },
	} {
		if ask(); s.pass().Persist {
			t.Errorf("%s was heeded: %+v", name, s.Roster)
		}
	}
	ask(generation, "p-1", "p-2")
	if s.pass(); s.Roster.Generation <= generation || s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("it was not recorded as a roster of its own: %+v", s.Roster)
	}
	s.pass()
	s.later(Outlast(second))
	if s.pass(); s.voters() != "p-0" {
		t.Errorf("a lease later: voters %q", s.voters())
	}
}

// What an operator said of a voter is void when it is back before it was removed.
func TestForgottenVoterComesBack(t *testing.T) {
	s := voting(3)
	s.loses(2, time.Hour)
	s.persisted("p-2", func(m *Member) { m.Forgotten = true })
	s.pass()
	s.joins(2)
	s.later(time.Minute)
	s.pass()
	if m := s.member(t, "p-2"); m.Forgotten || !m.Voter {
		t.Errorf("it is back: %+v", m)
	}
}

// A node that is replaced under its name starts its pods again with empty state directories, while
// the old machine may run on, cut off. So of three such voters none is removed while they are a
// majority, and none of them acknowledges anything. One alone is removed as a missing one is.
func TestAnotherStateDirectoryIsNoProof(t *testing.T) {
	s := voting(3)
	replace := func(pod int) {
		s.edit(pod, func(r *Report) { r.StateID, r.Generation = "new", s.Roster.Generation })
	}
	replace(1)
	replace(2)
	s.Settings = "another algorithm" // a roster that all acknowledge that are connected
	s.pass()
	s.acknowledge()
	s.pass()
	for range 10 {
		s.later(time.Minute)
		d := s.pass()
		if s.voters() != "p-0 p-1 p-2" || strings.Join(d.Replaced, " ") != "p-1 p-2" {
			t.Fatalf("voters %q, lost %q, of which replaced %q", s.voters(), d.Lost, d.Replaced)
		}
	}
	s.ends("uid-1")
	s.ends("uid-2")
	s.later(time.Minute)
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("their new kubelets say that the pods are over, and the voters are %q", s.voters())
	}
	s.edit(1, func(r *Report) { r.StateID = "m" }) // the old one is back
	s.acknowledge()
	s.pass()
	s.later(Outlast(2 * second))
	if s.pass(); s.voters() != "p-0 p-1" {
		t.Errorf("with a majority that can acknowledge it the voters are %q", s.voters())
	}
}
