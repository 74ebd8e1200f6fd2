package tenure_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/tenure"
)

// solo is one machine, whose clock, letters and disk are a test's.
type solo struct {
	t *testing.T
	*tenure.Machine
	config tenure.Config
	roster *tenure.Roster
	now    time.Duration
	T      time.Duration
	drift  tenure.Reading // added to the other clocks
	told   time.Duration
	out    tenure.Output // of the last step
}

// start is when the clock of a solo begins.
const start = time.Hour

// newSolo starts a process of a roster that remembers being a voter.
func newSolo(t *testing.T, r *tenure.Roster, name string) *solo {
	t.Helper()
	return startSolo(t, r, name, tenure.State{Group: r.Group, Generation: r.Generation, Voted: true})
}

func startSolo(t *testing.T, r *tenure.Roster, name string, remember tenure.State) *solo {
	t.Helper()
	s := &solo{t: t, roster: r, now: start, T: 200 * ms}
	s.config = tenure.Config{Self: lifeOf(r, name), Remember: remember, Seed: 1}
	s.boot()
	return s
}

func (s *solo) boot() {
	s.config.Now = s.read()
	s.Machine = tenure.New(s.config)
	s.do(tenure.Event{Type: tenure.Enrolled, Roster: s.roster})
}

// restart is another life with what is on the disk.
func (s *solo) restart() {
	s.config.Remember = s.State()
	s.config.Self.Incarnation++
	s.boot()
}

func lifeOf(r *tenure.Roster, name string) tenure.Life {
	for _, q := range r.Members {
		if q.Name == name {
			return tenure.Life{Name: q.Name, UID: q.UID, Memory: q.Memory, Incarnation: 1}
		}
	}
	return tenure.Life{Name: name, UID: "uid-" + name, Memory: "memory-" + name, Incarnation: 1}
}

func (s *solo) read() tenure.Reading {
	return tenure.Reading{Boot: s.now + s.drift.Boot, Raw: s.now + s.drift.Raw, Wall: s.now + s.drift.Wall}
}

func (s *solo) do(e tenure.Event) tenure.Output {
	e.Now, e.T = s.read(), s.T
	s.out = *s.Step(e)
	sent := s.out.Petitions
	s.out.Petitions = append([]tenure.Addressed(nil), sent...)
	if s.out.Stopped {
		first := s.out
		told := s.do(tenure.Event{Type: tenure.Told, Until: s.told})
		first.Petitions = append(first.Petitions, told.Petitions...)
		s.out = first
	}
	if _, deadline, ok := s.Permission(); ok && deadline > s.now {
		s.told = max(s.told, deadline)
	}
	return s.out
}

// after lets time pass, and looks at the clock as often as the machine wants.
func (s *solo) after(d time.Duration) (sent []tenure.Addressed) {
	until := s.now + d
	for next := s.Next(); next < until; next = s.Next() {
		s.now = max(next, s.now+time.Microsecond)
		if s.now >= until {
			break
		}
		sent = append(sent, s.do(tenure.Event{Type: tenure.Tick}).Petitions...)
	}
	s.now = until
	return append(sent, s.do(tenure.Event{Type: tenure.Tick}).Petitions...)
}

// asleep lets time pass, and nobody looks at the clock.
func (s *solo) asleep(d time.Duration) { s.now += d }

// ask brings a petition of a process of the roster, and returns the verdict; nil: there is none.
func (s *solo) ask(from tenure.Life, p tenure.Petition) *tenure.Verdict {
	if p.Group == "" {
		p.Group = s.roster.Group
	}
	return s.do(tenure.Event{Type: tenure.Petitioned, From: from, Petition: p}).Verdict
}

func (s *solo) askBy(name string, p tenure.Petition) *tenure.Verdict {
	return s.ask(lifeOf(s.roster, name), p)
}

// claims reports whether a claim of a life is granted.
func (s *solo) claims(from tenure.Life, e tenure.Epoch) bool {
	s.t.Helper()
	v := s.ask(from, tenure.Petition{Kind: tenure.Claim, Epoch: e, Lease: s.roster.Lease})
	if v == nil {
		s.t.Fatalf("no verdict about the claim of %v", from)
	}
	return v.Granted
}

// want fails the test unless a claim of a process of the roster is granted or denied as it should.
func (s *solo) want(granted bool, name string, e tenure.Epoch) {
	s.t.Helper()
	if s.claims(lifeOf(s.roster, name), e) != granted {
		s.t.Fatalf("after %v the claim of %s by %s: granted is %v", s.now-start, e, name, !granted)
	}
}

// verdict brings the answer of a process of the roster.
func (s *solo) verdict(from string, v tenure.Verdict) tenure.Output {
	return s.verdictOf(lifeOf(s.roster, from), v)
}

func (s *solo) verdictOf(from tenure.Life, v tenure.Verdict) tenure.Output {
	return s.do(tenure.Event{Type: tenure.Decided, From: from, Verdict: v})
}

// sent is the last petition of a kind to a process in a list.
func sent(all []tenure.Addressed, k tenure.Kind, to string) (p tenure.Petition, ok bool) {
	for _, a := range all {
		if a.To == to && a.Petition.Kind == k {
			p, ok = a.Petition, true
		}
	}
	return p, ok
}

func (s *solo) sent(k tenure.Kind, to string) tenure.Petition {
	s.t.Helper()
	p, ok := sent(s.out.Petitions, k, to)
	if !ok {
		s.t.Fatalf("no %s to %s among %v", k, to, s.out.Petitions)
	}
	return p
}

// answer is a voter's answer to a petition, one of this generation that has promised nothing.
func (s *solo) answer(p tenure.Petition, granted bool) tenure.Verdict {
	return tenure.Verdict{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: granted, Generation: s.roster.Generation, Candidate: true}
}

// claiming brings it so far that it has claimed; the petition is the one to P1.
func (s *solo) claiming() tenure.Petition {
	s.t.Helper()
	s.do(tenure.Event{Type: tenure.Nominated, Process: s.config.Self.Name})
	s.verdict("P1", s.answer(s.sent(tenure.Sound, "P1"), true))
	return s.sent(tenure.Claim, "P1")
}

// holding brings it so far that it holds, with the promises of itself and of P1.
func (s *solo) holding() tenure.Epoch {
	s.t.Helper()
	s.verdict("P1", s.answer(s.claiming(), true))
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

func epoch(generation, ballot int64) tenure.Epoch { return tenure.NewEpoch(generation, ballot) }
