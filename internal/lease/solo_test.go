package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// solo is one machine, whose clock, letters and disk are a test's.
type solo struct {
	t *testing.T
	*lease.Machine
	config lease.Config
	roster *lease.Roster
	now    time.Duration
	T      time.Duration
	drift  lease.Reading // added to the other clocks
	told   time.Duration
	out    lease.Output // of the last step
}

// start is when the clock of a solo begins.
const start = time.Hour

// newSolo starts a process of a roster that remembers being a voter.
func newSolo(t *testing.T, r *lease.Roster, name string) *solo {
	t.Helper()
	return startSolo(t, r, name, lease.State{Group: r.Group, Generation: r.Generation, Voted: true})
}

func startSolo(t *testing.T, r *lease.Roster, name string, remember lease.State) *solo {
	t.Helper()
	s := &solo{t: t, roster: r, now: start, T: 200 * ms}
	s.config = lease.Config{Self: lifeOf(r, name), Remember: remember, Seed: 1}
	s.boot()
	return s
}

func (s *solo) boot() {
	s.config.Now = s.read()
	s.Machine = lease.New(s.config)
	s.do(lease.Event{Type: lease.Enrolled, Roster: s.roster})
}

// restart is another life with what is on the disk.
func (s *solo) restart() {
	s.config.Remember = s.State()
	s.config.Self.Number++
	s.boot()
}

func lifeOf(r *lease.Roster, name string) lease.Incarnation {
	for _, q := range r.Members {
		if q.Name == name {
			return lease.Incarnation{Name: q.Name, UID: q.UID, StateID: q.StateID, Number: 1}
		}
	}
	return lease.Incarnation{Name: name, UID: "uid-" + name, StateID: "state-" + name, Number: 1}
}

func (s *solo) read() lease.Reading {
	return lease.Reading{Boot: s.now + s.drift.Boot, Raw: s.now + s.drift.Raw, Wall: s.now + s.drift.Wall}
}

func (s *solo) do(e lease.Event) lease.Output {
	e.Now, e.T = s.read(), s.T
	s.out = *s.Step(e)
	sent := s.out.Requests
	s.out.Requests = append([]lease.Addressed(nil), sent...)
	if s.out.Stopped {
		first := s.out
		told := s.do(lease.Event{Type: lease.Told, Until: s.told})
		first.Requests = append(first.Requests, told.Requests...)
		s.out = first
	}
	if _, deadline, ok := s.Permission(); ok && deadline > s.now {
		s.told = max(s.told, deadline)
	}
	return s.out
}

// after lets time pass, and looks at the clock as often as the machine wants.
func (s *solo) after(d time.Duration) (sent []lease.Addressed) {
	until := s.now + d
	for next := s.Next(); next < until; next = s.Next() {
		s.now = max(next, s.now+time.Microsecond)
		if s.now >= until {
			break
		}
		sent = append(sent, s.do(lease.Event{Type: lease.Tick}).Requests...)
	}
	s.now = until
	return append(sent, s.do(lease.Event{Type: lease.Tick}).Requests...)
}

// asleep lets time pass, and nobody looks at the clock.
func (s *solo) asleep(d time.Duration) { s.now += d }

// ask brings a request of a process of the roster, and returns the response; nil: there is none.
func (s *solo) ask(from lease.Incarnation, p lease.Request) *lease.Response {
	if p.Group == "" {
		p.Group = s.roster.Group
	}
	return s.do(lease.Event{Type: lease.Requested, From: from, Request: p}).Response
}

func (s *solo) askBy(name string, p lease.Request) *lease.Response {
	return s.ask(lifeOf(s.roster, name), p)
}

// claims reports whether a claim of a life is granted.
func (s *solo) claims(from lease.Incarnation, e lease.Epoch) bool {
	s.t.Helper()
	v := s.ask(from, lease.Request{Kind: lease.Vote, Epoch: e, Lease: s.roster.Lease})
	if v == nil {
		s.t.Fatalf("no response about the claim of %v", from)
	}
	return v.Granted
}

// want fails the test unless a claim of a process of the roster is granted or denied as it should.
func (s *solo) want(granted bool, name string, e lease.Epoch) {
	s.t.Helper()
	if s.claims(lifeOf(s.roster, name), e) != granted {
		s.t.Fatalf("after %v the claim of %s by %s: granted is %v", s.now-start, e, name, !granted)
	}
}

// response brings the answer of a process of the roster.
func (s *solo) response(from string, v lease.Response) lease.Output {
	return s.responseOf(lifeOf(s.roster, from), v)
}

func (s *solo) responseOf(from lease.Incarnation, v lease.Response) lease.Output {
	return s.do(lease.Event{Type: lease.Responded, From: from, Response: v})
}

// sent is the last request of a kind to a process in a list.
func sent(all []lease.Addressed, k lease.Kind, to string) (p lease.Request, ok bool) {
	for _, a := range all {
		if a.To == to && a.Request.Kind == k {
			p, ok = a.Request, true
		}
	}
	return p, ok
}

func (s *solo) sent(k lease.Kind, to string) lease.Request {
	s.t.Helper()
	p, ok := sent(s.out.Requests, k, to)
	if !ok {
		s.t.Fatalf("no %s to %s among %v", k, to, s.out.Requests)
	}
	return p
}

// answer is a voter's answer to a request, one of this generation that has promised nothing.
func (s *solo) answer(p lease.Request, granted bool) lease.Response {
	return lease.Response{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: granted, Generation: s.roster.Generation, Candidate: true}
}

// claiming brings it so far that it has claimed; the request is the one to P1.
func (s *solo) claiming() lease.Request {
	s.t.Helper()
	s.do(lease.Event{Type: lease.Nominated, Process: s.config.Self.Name})
	s.response("P1", s.answer(s.sent(lease.PreVote, "P1"), true))
	return s.sent(lease.Vote, "P1")
}

// holding brings it so far that it holds, with the promises of itself and of P1.
func (s *solo) holding() lease.Epoch {
	s.t.Helper()
	s.response("P1", s.answer(s.claiming(), true))
	e, _, ok := s.Permission()
	if !ok {
		s.t.Fatal("it does not hold")
	}
	return e
}

// may reports whether the process may act at this instant.
func (s *solo) may() bool {
	_, deadline, ok := s.Permission()
	return ok && s.now < deadline
}

func epoch(generation, ballot int64) lease.Epoch { return lease.NewEpoch(generation, ballot) }
