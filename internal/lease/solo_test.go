package lease_test

import (
	"cmp"
	"slices"
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
	saved  lease.State  // what is on the disk
	writes []written    // under way
	out    lease.Output // of the last step, and of what became of its write
	slow   bool         // writes end when the test says so
	broken bool         // writes fail
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
	s.config = lease.Config{Self: incarnationOf(r, name), Saved: remember, Seed: 1}
	s.saved = remember
	s.boot()
	return s
}

func (s *solo) boot() {
	s.config.Now = s.read()
	s.Machine = lease.New(s.config)
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
}

// restart is another incarnation with what is on the disk.
func (s *solo) restart() {
	s.config.Saved = s.saved
	s.config.Self.Number++
	s.boot()
}

func incarnationOf(r *lease.Roster, name string) lease.Incarnation {
	for _, q := range r.Members {
		if q.Name == name {
			return lease.Incarnation{Name: q.Name, UID: q.UID, StateID: q.StateID, Number: 1}
		}
	}
	return lease.Incarnation{Name: name, UID: "uid-" + name, StateID: "state-" + name, Number: 1}
}

func (s *solo) read() lease.Reading {
	return lease.Reading{
		Boot: s.now + s.drift.Boot,
		Raw:  s.now + s.drift.Raw,
		Wall: s.now + s.drift.Wall,
	}
}

func (s *solo) do(e lease.Event) lease.Output {
	e.Now, e.T = s.read(), s.T
	out := *s.Step(e)
	out.Requests, out.Replies = slices.Clone(out.Requests), slices.Clone(out.Replies)
	if out.Version != 0 {
		s.writes = append(s.writes, written{out.Version, s.State()})
	}
	s.out = out
	if out.Revoke {
		s.also(&out, lease.Event{Type: lease.Told, Until: s.told})
	}
	if out.Version != 0 && !s.slow {
		s.also(&out, s.write())
	}
	s.out = out
	if _, deadline, ok := s.Permission(); ok && deadline > s.now {
		s.told = max(s.told, deadline)
	}
	return s.out
}

// written is a write that is under way.
type written struct {
	version uint64
	state   lease.State
}

// write ends the oldest write, and returns what became of it.
func (s *solo) write() lease.Event {
	w := s.writes[0]
	s.writes = s.writes[1:]
	if s.broken {
		s.broken = false
		return lease.Event{Type: lease.WriteFailed}
	}
	s.saved = w.state
	return lease.Event{Type: lease.Persisted, Version: w.version}
}

// also does something more in the same breath.
func (s *solo) also(out *lease.Output, e lease.Event) {
	more := s.do(e)
	out.Requests, out.Replies = append(
		out.Requests,
		more.Requests...), append(
		out.Replies,
		more.Replies...)
	out.Revoke = out.Revoke || more.Revoke
	out.Heard, out.Suspect, out.Appoint = cmp.Or(
		out.Heard,
		more.Heard,
	), cmp.Or(
		out.Suspect,
		more.Suspect,
	), cmp.Or(
		out.Appoint,
		more.Appoint,
	)
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
	out := s.do(lease.Event{Type: lease.Requested, From: from, Request: p})
	if n := len(out.Replies); n > 0 {
		return &out.Replies[n-1].Response
	}
	return nil
}

func (s *solo) askBy(name string, p lease.Request) *lease.Response {
	return s.ask(incarnationOf(s.roster, name), p)
}

// claims reports whether a claim of an incarnation is granted.
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
	if s.claims(incarnationOf(s.roster, name), e) != granted {
		s.t.Fatalf("after %v the claim of %s by %s: granted is %v", s.now-start, e, name, !granted)
	}
}

// response brings the answer of a process of the roster.
func (s *solo) response(from string, v lease.Response) lease.Output {
	return s.responseOf(incarnationOf(s.roster, from), v)
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
	return lease.Response{
		Kind:       p.Kind,
		Epoch:      p.Epoch,
		Round:      p.Round,
		Granted:    granted,
		Generation: s.roster.Generation,
		Candidate:  true,
	}
}

// seeking brings it so far that it has claimed; the request is the one to P1.
func (s *solo) seeking() lease.Request {
	s.t.Helper()
	s.do(lease.Event{Type: lease.Nominated, Process: s.config.Self.Name})
	s.response("P1", s.answer(s.sent(lease.PreVote, "P1"), true))
	return s.sent(lease.Vote, "P1")
}

// holding brings it so far that it holds, with the promises of itself and of P1.
func (s *solo) holding() lease.Epoch {
	s.t.Helper()
	s.response("P1", s.answer(s.seeking(), true))
	e, _, ok := s.Permission()
	if !ok {
		s.t.Fatal("it does not hold")
	}
	return e
}

// elected has P1 and P2 promise what it asks for when it is nominated.
func (s *solo) elected() {
	s.t.Helper()
	s.do(lease.Event{Type: lease.Nominated, Process: s.config.Self.Name})
	s.granted(lease.PreVote, lease.Vote)
}

// granted has P1 and P2 grant what it asks them for, one kind after the other.
func (s *solo) granted(kinds ...lease.Kind) {
	s.t.Helper()
	for _, k := range kinds {
		p := s.sent(k, "P1")
		s.response("P1", s.answer(p, true))
		s.response("P2", s.answer(p, true))
	}
}

// may reports whether the process may act at this instant.
func (s *solo) may() bool {
	_, deadline, ok := s.Permission()
	return ok && s.now < deadline
}

func epoch(generation, ballot int64) lease.Epoch { return lease.NewEpoch(generation, ballot) }
