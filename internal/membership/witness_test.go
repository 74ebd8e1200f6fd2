package membership

import (
	"slices"
	"testing"
	"time"
)

// withWitness returns a group of two voters that may coordinate, p-0 and p-1, and a witness, p-2.
func withWitness() *scene {
	s := newScene(3)
	s.mark(2, true)
	return s.foundedNow()
}

// mark puts the mark of a witness on a pod, or takes it off.
func (s *scene) mark(pod int, witness bool) { s.Pods[pod].Witness = witness }

// foundedNow has all pods join and become voters.
func (s *scene) foundedNow() *scene {
	for i := range s.Pods {
		s.joins(i)
	}
	s.pass()
	s.acknowledge()
	return s
}

// witnesses are the names of the witnesses on the persisted roster.
func (s *scene) witnesses() (names []string) {
	for _, m := range s.Roster.Members {
		if m.Witness {
			names = append(names, m.Name)
		}
	}
	return names
}

// stays fails unless p-2 votes, is a witness, and has priority 0.
func (s *scene) stays(t *testing.T, when string) {
	t.Helper()
	if got := s.witnesses(); !slices.Equal(got, []string{"p-2"}) {
		t.Errorf("%s: the witnesses are %v", when, got)
	}
	if got := priorities(s.Roster); got != "[1 2 0]" {
		t.Errorf("%s: the priorities are %s", when, got)
	}
	if got := s.voters(); s.Guarded && got != "p-0 p-1 p-2" {
		t.Errorf("%s: the voters are %s", when, got)
	}
}

// A witness is among the first voters, and one that comes later is added as any voter is; but from
// the first roster that names it, it has priority 0, whatever the spec gives to its name.
func TestWitness(t *testing.T) {
	withWitness().stays(t, "founded")

	s := voting(2)
	s.Pods = append(s.Pods, podNumber(2))
	s.Pods[2].Priority = MaxPriority
	s.mark(2, true)
	s.joins(2)
	if d := s.pass(); d.Why != VoterJoined {
		t.Fatalf("it does not become a voter: %+v", d)
	}
	s.stays(t, "added")
}

// Who has been a witness is one for good: taking the mark off the pod gives it nothing, neither
// under this manager nor under the next, which knows the roster only.
func TestWitnessForGood(t *testing.T) {
	for name, manager := range map[string]State{"this manager": {}, "the next": {}} {
		t.Run(name, func(t *testing.T) {
			s := withWitness()
			s.mark(2, false)
			if name == "the next" {
				s.state = manager
			}
			if d := s.pass(); d.Persist {
				t.Errorf("there is another roster: %+v", d.Roster)
			}
			s.Settings = "rings" // makes one
			s.pass()
			s.stays(t, "the mark is gone")
			s.acknowledge()
			s.later(second)
			s.Settings = "bully"
			s.pass()
			s.stays(t, "and for long")
		})
	}
}

// It is the pod that is a witness, not the name: a new pod of the name is what it is marked as.
func TestWitnessIsReplaced(t *testing.T) {
	s := withWitness()
	s.Ended = append(s.Ended, EndedPod{UID: "uid-2", At: s.Now})
	s.Pods[2].UID, s.Pods[2].Witness = "uid-new", false
	s.unseen("uid-2")
	s.pass()
	s.later(time.Minute)
	s.pass() // the old one goes
	if got := s.witnesses(); len(got) != 0 {
		t.Errorf("%v are witnesses", got)
	}
	if got := priorities(s.Roster); got != "[1 2 3]" {
		t.Errorf("the priorities are %s", got)
	}
}

// A voter that is marked later is a witness from then on; it loses its priority, not its vote.
func TestWitnessMarkedLater(t *testing.T) {
	s := voting(3)
	before := s.Roster.Generation
	s.mark(2, true)
	if d := s.pass(); !d.Persist || d.Roster.Generation <= before {
		t.Fatalf("no new roster: %+v", d)
	}
	s.stays(t, "marked")
	s.mark(2, false)
	s.pass()
	s.stays(t, "no longer marked")
}

// A pod that has priority 0 anyway and is marked: the agents are told nothing new, and it is on
// record all the same, so that it stays a witness when the spec gives it another priority.
func TestWitnessOnRecord(t *testing.T) {
	s := voting(3)
	s.Pods[2].Priority = 0
	s.pass()
	generation := s.Roster.Generation
	s.mark(2, true)
	if d := s.pass(); !d.Persist || d.Why != Recorded || d.Roster.Generation != generation {
		t.Errorf("it is not recorded: %+v", d)
	}
	s.mark(2, false)
	s.Pods[2].Priority = 7
	s.pass()
	s.stays(t, "the spec gives it a priority")
}

// A witness whose pod is gone, and which may still run, is on record as long as it votes.
func TestWitnessThatIsGone(t *testing.T) {
	s := withWitness()
	s.loses(2, 0).drop(2)
	s.pass()
	s.stays(t, "its pod is gone")
}

// A request cannot make a coordinator of a witness, marked or recorded, and a group whose other
// process is a witness has nobody else.
func TestStepDownToAWitness(t *testing.T) {
	for name, marked := range map[string]bool{"marked": true, "recorded": false} {
		t.Run(name, func(t *testing.T) {
			s := withWitness()
			s.mark(2, marked)
			s.coordinates(1, 7)
			s.StepDown = StepDownRequest{
				ID:         "a",
				Generation: s.Roster.Generation,
				Process:    s.identity(1),
				Epoch:      7,
				To:         s.identity(2),
			}
			s.pass()
			s.wants(t, SuccessorUnfit, "[1 2 0]")
			s.StepDown.ID, s.StepDown.To = "b", Identity{}
			s.unfit(0)
			s.pass()
			s.wants(t, NobodyElse, "[1 2 0]")
		})
	}
}

// In a Classic group it does not coordinate either, and that is for good, too.
func TestWitnessOfAClassicGroup(t *testing.T) {
	s := newScene(3)
	s.Guarded = false
	s.mark(2, true)
	s.foundedNow()
	s.mark(2, false)
	s.Settings = "rings"
	s.pass()
	s.stays(t, "the mark is gone")
}

// A status that was set back to a time when the witness was one already keeps it, though the roster
// that agents show does not name witnesses.
func TestWitnessOutlivesASetBack(t *testing.T) {
	s := withWitness()
	older := s.Roster
	s.Settings = "rings"
	s.pass()
	s.acknowledge()
	held := *s.Roster
	held.Members = slices.Clone(held.Members)
	for i := range held.Members {
		held.Members[i].Witness = false
	}
	s.mark(2, false)
	s.state, s.Roster, s.Held, s.Inherited = State{}, older, &held, true
	s.pass()
	if s.Roster.Generation <= held.Generation {
		t.Fatalf("generation %d was not adopted: %d", held.Generation, s.Roster.Generation)
	}
	s.stays(t, "set back")
}
