package gate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/gate"
	"github.com/podesta-dev/podesta/internal/tenure"
)

// side is what one gate does, in order: its driver carries out nothing, and writes everything down.
type side struct {
	t       *testing.T
	gate    *gate.Gate
	now     time.Duration
	told    time.Duration // until when the app was told
	broken  bool          // the disk fails
	synced  tenure.State
	said    []string
	sent    []tenure.Petition // to P1
	process []election.Process
}

func (s *side) Now() tenure.Reading { return tenure.Reading{Boot: s.now, Raw: s.now, Wall: s.now} }

func (s *side) T() time.Duration { return 200 * time.Millisecond }

func (s *side) Elected(_, after election.State, out election.Output) {
	coordinator := after.Coordinator
	if after.Electing {
		coordinator = ""
	}
	s.say("elected %q, %d messages", coordinator, len(out.Messages))
}

var errDisk = errors.New("the disk is full")

func (s *side) Sync(state tenure.State) error {
	if s.broken {
		s.say("not synced")
		return errDisk
	}
	s.synced = state
	s.say("synced %s", state.Highest)
	return nil
}

func (s *side) Petition(to string, p tenure.Petition) {
	if to == "P1" {
		s.say("%s %s", p.Kind, p.Epoch)
		s.sent = append(s.sent, p)
	}
}

func (s *side) Heard(process string) { s.say("heard %s", process) }

func (s *side) Stopped() tenure.Instant {
	s.say("stopped")
	return s.told
}

func (s *side) say(format string, args ...any) { s.said = append(s.said, fmt.Sprintf(format, args...)) }

// did is what was done since it was asked last.
func (s *side) did() string {
	said := strings.Join(s.said, "; ")
	s.said = nil
	return said
}

const lease = time.Second

func life(name string) tenure.Life {
	return tenure.Life{Name: name, UID: "uid", Memory: "memory-" + name, Incarnation: 1}
}

// newSide is the gate of a process in a group of three, P3 the highest.
func newSide(t *testing.T, name string, guarded bool) *side {
	t.Helper()
	s := &side{t: t, now: time.Hour}
	r := &tenure.Roster{Group: "g", Generation: 1, Heartbeat: 100 * time.Millisecond, Timeout: 500 * time.Millisecond, Lease: lease, Preemption: tenure.Never}
	for i := range 3 {
		q := fmt.Sprintf("P%d", i+1)
		s.process = append(s.process, election.Process{Name: q, Priority: int32(i + 1)})
		r.Members = append(r.Members, tenure.Member{Name: q, UID: "uid", Memory: "memory-" + q, Priority: int32(i + 1), Voter: true})
	}
	m, err := election.New(election.Config{Algorithm: "Bully", Self: name, Incarnation: 1, Roster: s.process})
	if err != nil {
		t.Fatal(err)
	}
	if !guarded {
		s.gate = gate.New(m, nil, s)
		return s
	}
	s.gate = gate.New(m, tenure.New(tenure.Config{Self: life(name), Now: s.Now(),
		Remember: tenure.State{Group: "g", Generation: 1, Voted: true}}), s)
	s.gate.Authorise(tenure.Event{Type: tenure.Enrolled, Roster: r})
	s.did()
	return s
}

func (s *side) petition(from string, p tenure.Petition) *tenure.Verdict {
	p.Group = "g"
	return s.gate.Authorise(tenure.Event{Type: tenure.Petitioned, From: life(from), Petition: p})
}

// grant has P1 answer the last petition that it got.
func (s *side) grant() {
	s.t.Helper()
	if len(s.sent) == 0 {
		s.t.Fatal("nothing was sent to P1")
	}
	p := s.sent[len(s.sent)-1]
	s.gate.Authorise(tenure.Event{Type: tenure.Decided, From: life("P1"),
		Verdict: tenure.Verdict{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: true, Generation: 1, Candidate: true}})
}

// hold brings P3 so far that it holds.
func (s *side) hold() {
	s.t.Helper()
	s.gate.Elect(election.Event{Type: election.Start})
	s.grant() // SOUND
	s.grant() // CLAIM
	_, deadline, ok := s.gate.Tenure.Permission()
	if !ok {
		s.t.Fatalf("P3 does not hold: %s", s.did())
	}
	s.told = deadline
	s.did()
}

// The algorithm nominates, tenure authorises: who wins the election asks the voters, and its own promise is on the disk before it claims.
func TestElectedIsNominated(t *testing.T) {
	s := newSide(t, "P3", true)
	s.gate.Elect(election.Event{Type: election.Start})
	if did := s.did(); !strings.Contains(did, "SOUND") {
		t.Fatalf("P3 is elected, and does not ask: %s", did)
	}
	s.grant()
	did := s.did()
	synced, claimed := strings.Index(did, "synced 1.1"), strings.Index(did, "CLAIM 1.1")
	if synced < 0 || claimed < synced {
		t.Errorf("the order is: %s", did)
	}
	if _, _, ok := s.gate.Tenure.Permission(); ok {
		t.Error("it may act before anybody has promised")
	}
}

// V11: if the disk fails, nothing goes out, no verdict and no petition, and the app is stopped.
func TestDiskFails(t *testing.T) {
	s := newSide(t, "P1", true)
	s.broken = true
	if v := s.petition("P3", tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(1, 1), Lease: lease}); v != nil {
		t.Errorf("it answers %+v", *v)
	}
	if did := s.did(); did != "not synced; stopped" {
		t.Errorf("it did: %s", did)
	}
	s.broken = false
	if v := s.petition("P2", tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(1, 2), Lease: lease}); v == nil || v.Granted {
		t.Errorf("afterwards it answers %+v: it is to be silent for a lease", v)
	}
	if !strings.Contains(s.did(), "synced") {
		t.Error("it does not sync again")
	}
}

// F1, F4: a held claim makes the election machine name its holder, whoever was elected; the failure detector hears of it, and the
// promise is synced first.
func TestHolderIsAppointed(t *testing.T) {
	s := newSide(t, "P1", true)
	v := s.petition("P2", tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(1, 1), Lease: lease, Held: true})
	if v == nil || !v.Granted {
		t.Fatalf("it answers %+v", v)
	}
	if did := s.did(); !strings.HasPrefix(did, "synced 1.1; heard P2; elected \"P2\"") {
		t.Errorf("it did: %s", did)
	}
	if c := s.gate.Machine.State().Coordinator; c != "P2" {
		t.Errorf("its election machine names %q", c)
	}
}

// H6, H8: an app that falls ill is stopped before anything else goes out; RELEASE comes when its time is over.
func TestAppFallsIll(t *testing.T) {
	s := newSide(t, "P3", true)
	s.hold()
	s.gate.Elect(election.Event{Type: election.Withdraw})
	did := s.did()
	if !strings.HasPrefix(did, "stopped; RESIGN 1.1") || strings.Contains(did, "RELEASE") {
		t.Errorf("it did: %s", did)
	}
	if !s.gate.Machine.State().Withdrawn {
		t.Error("its election machine has not withdrawn")
	}
	s.now = s.told - 1
	s.gate.Authorise(tenure.Event{Type: tenure.Tick})
	if did := s.did(); strings.Contains(did, "RELEASE") {
		t.Errorf("too early it did: %s", did)
	}
	s.now = s.told
	s.gate.Authorise(tenure.Event{Type: tenure.Tick})
	if did := s.did(); !strings.Contains(did, "RELEASE 1.1") {
		t.Errorf("at the end it did: %s", did)
	}
}

// H6: an app that can be stopped at once is not waited for.
func TestSessionIsNotWaitedFor(t *testing.T) {
	s := newSide(t, "P3", true)
	s.hold()
	s.told = s.now
	s.gate.Elect(election.Event{Type: election.Withdraw})
	if did := s.did(); !strings.HasPrefix(did, "stopped; RESIGN 1.1") || !strings.Contains(did, "RELEASE 1.1") {
		t.Errorf("it did: %s", did)
	}
}

// N5: who reaches no majority withdraws from the election, and comes back by itself; not while its app is ill.
func TestRestsAndReturns(t *testing.T) {
	for _, ill := range []bool{false, true} {
		s := newSide(t, "P3", true)
		s.gate.Elect(election.Event{Type: election.Start})
		s.until(func() bool { return s.gate.Tenure.Rests() })
		if !s.gate.Machine.State().Withdrawn {
			t.Fatal("it rests, and its election machine has not withdrawn")
		}
		if ill {
			s.gate.Elect(election.Event{Type: election.Withdraw})
		}
		s.until(func() bool { return !s.gate.Tenure.Rests() })
		if withdrawn := s.gate.Machine.State().Withdrawn; withdrawn != ill {
			t.Errorf("ill is %v: afterwards withdrawn is %v", ill, withdrawn)
		}
	}
}

// A process whose app is well again while it rests stays away until it has rested.
func TestWellAgainWhileItRests(t *testing.T) {
	s := newSide(t, "P3", true)
	s.gate.Elect(election.Event{Type: election.Start})
	s.until(func() bool { return s.gate.Tenure.Rests() })
	s.gate.Elect(election.Event{Type: election.Withdraw})
	s.gate.Elect(election.Event{Type: election.Restore})
	if !s.gate.Machine.State().Withdrawn {
		t.Error("it is back before it has rested")
	}
	s.until(func() bool { return !s.gate.Tenure.Rests() })
	if s.gate.Machine.State().Withdrawn {
		t.Error("it never comes back")
	}
}

// until lets time pass as the tenure machine wants it.
func (s *side) until(done func() bool) {
	s.t.Helper()
	for range 1000 {
		if done() {
			return
		}
		s.now = max(s.gate.Tenure.Next(), s.now+time.Millisecond)
		s.gate.Authorise(tenure.Event{Type: tenure.Tick})
	}
	s.t.Fatal("it never happens")
}

// N8: the election machine suspects the holder only when the voters do not hear it either.
func TestSuspicionIsConsulted(t *testing.T) {
	s := newSide(t, "P2", true)
	s.petition("P3", tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(1, 1), Lease: lease, Held: true})
	s.did()
	s.gate.Authorise(tenure.Event{Type: tenure.Suspected, Process: "P3"})
	s.gate.Authorise(tenure.Event{Type: tenure.Tick})
	if did := s.did(); strings.Contains(did, "elected") || !strings.Contains(did, "SOUND") {
		t.Fatalf("it did: %s", did)
	}
	p := s.sent[len(s.sent)-1]
	s.gate.Authorise(tenure.Event{Type: tenure.Decided, From: life("P1"),
		Verdict: tenure.Verdict{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Generation: 1}})
	if did := s.did(); !strings.Contains(did, `elected ""`) && !strings.Contains(did, `elected "P2"`) {
		t.Errorf("nobody hears it, and it did: %s", did)
	}
}

// F5: while it follows a holder, talk of an election does not concern it; without one it does.
func TestTalkOfElections(t *testing.T) {
	for _, settled := range []bool{true, false} {
		s := newSide(t, "P2", true)
		if settled {
			s.petition("P3", tenure.Petition{Kind: tenure.Claim, Epoch: tenure.NewEpoch(1, 1), Lease: lease, Held: true})
		}
		s.did()
		s.gate.Elect(election.Event{Type: election.Receive, Process: "P1", Incarnation: 1,
			Message: election.Message{Kind: election.Election, Election: election.ID{Initiator: "P1", Incarnation: 1, Sequence: 1}}})
		if answered := !strings.Contains(s.did(), "0 messages"); answered == settled {
			t.Errorf("settled %v: it answers: %v", settled, answered)
		}
	}
}

// In a Classic group the gate is open: what the election machine says is carried out, and nothing else.
func TestClassic(t *testing.T) {
	s := newSide(t, "P3", false)
	s.gate.Elect(election.Event{Type: election.Start})
	s.gate.Elect(election.Event{Type: election.Withdraw})
	s.gate.Elect(election.Event{Type: election.Restore})
	if v := s.petition("P1", tenure.Petition{Kind: tenure.Sound}); v != nil {
		t.Errorf("it answers %+v", *v)
	}
	if !slices.Equal(s.said[:1], []string{`elected "P3", 2 messages`}) || len(s.said) != 3 {
		t.Errorf("it did: %s", s.did())
	}
}
