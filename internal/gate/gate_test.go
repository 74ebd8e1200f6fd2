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
	"github.com/podesta-dev/podesta/internal/lease"
)

// side is what one gate does, in order: its driver carries out nothing, and writes everything down.
type side struct {
	t       *testing.T
	gate    *gate.Gate
	now     time.Duration
	told    time.Duration // until when the app was told
	broken  bool          // the disk fails
	synced  lease.State
	said    []string
	sent    []lease.Request // to P1
	process []election.Process
}

func (s *side) Now() lease.Reading { return lease.Reading{Boot: s.now, Raw: s.now, Wall: s.now} }

func (s *side) T() time.Duration { return 200 * time.Millisecond }

func (s *side) Elected(_, after election.State, out election.Output) {
	coordinator := after.Coordinator
	if after.Electing {
		coordinator = ""
	}
	s.say("elected %q, %d messages", coordinator, len(out.Messages))
}

var errDisk = errors.New("the disk is full")

func (s *side) Sync(state lease.State) error {
	if s.broken {
		s.say("not synced")
		return errDisk
	}
	s.synced = state
	s.say("synced %s", state.Highest)
	return nil
}

func (s *side) Request(to string, p lease.Request) {
	if to == "P1" {
		s.say("%s %s", p.Kind, p.Epoch)
		s.sent = append(s.sent, p)
	}
}

func (s *side) Heard(process string) { s.say("heard %s", process) }

func (s *side) Stopped() lease.Instant {
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

const leaseTime = time.Second

func life(name string) lease.Incarnation {
	return lease.Incarnation{Name: name, UID: "uid", StateID: "state-" + name, Number: 1}
}

// newSide is the gate of a process in a group of three, P3 the highest.
func newSide(t *testing.T, name string, guarded bool) *side {
	t.Helper()
	s := &side{t: t, now: time.Hour}
	r := &lease.Roster{Group: "g", Generation: 1, Heartbeat: 100 * time.Millisecond, Timeout: 500 * time.Millisecond, Lease: leaseTime, Preemption: lease.Never}
	for i := range 3 {
		q := fmt.Sprintf("P%d", i+1)
		s.process = append(s.process, election.Process{Name: q, Priority: int32(i + 1)})
		r.Members = append(r.Members, lease.Member{Name: q, UID: "uid", StateID: "state-" + q, Priority: int32(i + 1), Voter: true})
	}
	m, err := election.New(election.Config{Algorithm: "Bully", Self: name, Incarnation: 1, Roster: s.process})
	if err != nil {
		t.Fatal(err)
	}
	if !guarded {
		s.gate = gate.New(m, nil, s)
		return s
	}
	s.gate = gate.New(m, lease.New(lease.Config{Self: life(name), Now: s.Now(),
		Saved: lease.State{Group: "g", Generation: 1, Voted: true}}), s)
	s.gate.Authorise(lease.Event{Type: lease.RosterChanged, Roster: r})
	s.did()
	return s
}

func (s *side) request(from string, p lease.Request) *lease.Response {
	p.Group = "g"
	return s.gate.Authorise(lease.Event{Type: lease.Requested, From: life(from), Request: p})
}

// grant has P1 answer the last request that it got.
func (s *side) grant() {
	s.t.Helper()
	if len(s.sent) == 0 {
		s.t.Fatal("nothing was sent to P1")
	}
	p := s.sent[len(s.sent)-1]
	s.gate.Authorise(lease.Event{Type: lease.Responded, From: life("P1"),
		Response: lease.Response{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: true, Generation: 1, Candidate: true}})
}

// hold brings P3 so far that it holds.
func (s *side) hold() {
	s.t.Helper()
	s.gate.Elect(election.Event{Type: election.Start})
	s.grant() // PREVOTE
	s.grant() // VOTE
	_, deadline, ok := s.gate.Lease.Permission()
	if !ok {
		s.t.Fatalf("P3 does not hold: %s", s.did())
	}
	s.told = deadline
	s.did()
}

// The algorithm nominates, lease authorises: who wins the election asks the voters, and its own promise is on the disk before it claims.
func TestElectedIsNominated(t *testing.T) {
	s := newSide(t, "P3", true)
	s.gate.Elect(election.Event{Type: election.Start})
	if did := s.did(); !strings.Contains(did, "PREVOTE") {
		t.Fatalf("P3 is elected, and does not ask: %s", did)
	}
	s.grant()
	did := s.did()
	synced, claimed := strings.Index(did, "synced 1.1"), strings.Index(did, "VOTE 1.1")
	if synced < 0 || claimed < synced {
		t.Errorf("the order is: %s", did)
	}
	if _, _, ok := s.gate.Lease.Permission(); ok {
		t.Error("it may act before anybody has promised")
	}
}

// V11: if the disk fails, nothing goes out, no response and no request, and the app is stopped.
func TestDiskFails(t *testing.T) {
	s := newSide(t, "P1", true)
	s.broken = true
	if v := s.request("P3", lease.Request{Kind: lease.Vote, Epoch: lease.NewEpoch(1, 1), Lease: leaseTime}); v != nil {
		t.Errorf("it answers %+v", *v)
	}
	if did := s.did(); did != "not synced" {
		t.Errorf("it did: %s", did)
	}
	s.broken = false
	if v := s.request("P2", lease.Request{Kind: lease.Vote, Epoch: lease.NewEpoch(1, 2), Lease: leaseTime}); v == nil || v.Granted {
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
	v := s.request("P2", lease.Request{Kind: lease.Renew, Epoch: lease.NewEpoch(1, 1), Lease: leaseTime})
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
	if !strings.HasPrefix(did, "stopped; STEP DOWN 1.1") || strings.Contains(did, "RELEASE") {
		t.Errorf("it did: %s", did)
	}
	if !s.gate.Machine.State().Withdrawn {
		t.Error("its election machine has not withdrawn")
	}
	s.now = s.told - 1
	s.gate.Authorise(lease.Event{Type: lease.Tick})
	if did := s.did(); strings.Contains(did, "RELEASE") {
		t.Errorf("too early it did: %s", did)
	}
	s.now = s.told
	s.gate.Authorise(lease.Event{Type: lease.Tick})
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
	if did := s.did(); !strings.HasPrefix(did, "stopped; STEP DOWN 1.1") || !strings.Contains(did, "RELEASE 1.1") {
		t.Errorf("it did: %s", did)
	}
}

// N5: who reaches no majority withdraws from the election, and comes back by itself; not while its app is ill.
func TestRestsAndReturns(t *testing.T) {
	for _, ill := range []bool{false, true} {
		s := newSide(t, "P3", true)
		s.gate.Elect(election.Event{Type: election.Start})
		s.until(func() bool { return s.gate.Lease.Rests() })
		if !s.gate.Machine.State().Withdrawn {
			t.Fatal("it rests, and its election machine has not withdrawn")
		}
		if ill {
			s.gate.Elect(election.Event{Type: election.Withdraw})
		}
		s.until(func() bool { return !s.gate.Lease.Rests() })
		if withdrawn := s.gate.Machine.State().Withdrawn; withdrawn != ill {
			t.Errorf("ill is %v: afterwards withdrawn is %v", ill, withdrawn)
		}
	}
}

// A process whose app is well again while it rests stays away until it has rested.
func TestWellAgainWhileItRests(t *testing.T) {
	s := newSide(t, "P3", true)
	s.gate.Elect(election.Event{Type: election.Start})
	s.until(func() bool { return s.gate.Lease.Rests() })
	s.gate.Elect(election.Event{Type: election.Withdraw})
	s.gate.Elect(election.Event{Type: election.Restore})
	if !s.gate.Machine.State().Withdrawn {
		t.Error("it is back before it has rested")
	}
	s.until(func() bool { return !s.gate.Lease.Rests() })
	if s.gate.Machine.State().Withdrawn {
		t.Error("it never comes back")
	}
}

// until lets time pass as the lease machine wants it.
func (s *side) until(done func() bool) {
	s.t.Helper()
	for range 1000 {
		if done() {
			return
		}
		s.now = max(s.gate.Lease.Next(), s.now+time.Millisecond)
		s.gate.Authorise(lease.Event{Type: lease.Tick})
	}
	s.t.Fatal("it never happens")
}

// N8: the election machine suspects the holder only when the voters do not hear it either.
func TestSuspicionIsConsulted(t *testing.T) {
	s := newSide(t, "P2", true)
	s.request("P3", lease.Request{Kind: lease.Renew, Epoch: lease.NewEpoch(1, 1), Lease: leaseTime})
	s.did()
	s.gate.Authorise(lease.Event{Type: lease.Suspected, Process: "P3"})
	s.gate.Authorise(lease.Event{Type: lease.Tick})
	if did := s.did(); strings.Contains(did, "elected") || !strings.Contains(did, "PREVOTE") {
		t.Fatalf("it did: %s", did)
	}
	p := s.sent[len(s.sent)-1]
	s.gate.Authorise(lease.Event{Type: lease.Responded, From: life("P1"),
		Response: lease.Response{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Generation: 1}})
	if did := s.did(); !strings.Contains(did, `elected ""`) && !strings.Contains(did, `elected "P2"`) {
		t.Errorf("nobody hears it, and it did: %s", did)
	}
}

// F5: while it follows a holder, talk of an election does not concern it; without one it does.
func TestTalkOfElections(t *testing.T) {
	for _, settled := range []bool{true, false} {
		s := newSide(t, "P2", true)
		if settled {
			s.request("P3", lease.Request{Kind: lease.Renew, Epoch: lease.NewEpoch(1, 1), Lease: leaseTime})
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
	if v := s.request("P1", lease.Request{Kind: lease.PreVote}); v != nil {
		t.Errorf("it answers %+v", *v)
	}
	if !slices.Equal(s.said[:1], []string{`elected "P3", 2 messages`}) || len(s.said) != 3 {
		t.Errorf("it did: %s", s.did())
	}
}
