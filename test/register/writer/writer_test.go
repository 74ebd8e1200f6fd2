package writer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/test/register"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stand is a writer with an agent that says what a test wants, and a real register.
type stand struct {
	t       *testing.T
	trace   chan Line           // of the writer
	entries chan register.Entry // of the register
	reports chan string         // of the writer
	opened  chan struct{}       // a session
	closed  chan struct{}       // a session, as the agent sees it
	begun   atomic.Int64        // sessions
	over    atomic.Int64        // sessions, as the agent sees it
	early   atomic.Bool         // a session was over before the trace had that the belief in it has ended
	events  chan string         // what the agent says over a session
	store   *register.Register
	stop    func() // ends the writer and waits for it

	mu     sync.Mutex
	answer string // to polls: a body, or a status
}

// size is more than any test has of anything.
const size = 10_000

func newStand(t *testing.T, answer string) *stand {
	s := &stand{t: t, trace: make(chan Line, size), entries: make(chan register.Entry, size), reports: make(chan string, size),
		opened: make(chan struct{}, size), closed: make(chan struct{}, size), events: make(chan string), answer: answer}
	s.store = register.New(io.Discard, func(e register.Entry) { s.entries <- e })
	return s
}

// Write takes the trace.
func (s *stand) Write(text []byte) (int, error) {
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return 0, err
	}
	if n := s.begun.Load(); l.Kind == Stopped && n > 0 {
		<-time.After(50 * time.Millisecond) // the agent would see the end of the session by then, if that came first
		s.early.Store(s.over.Load() == n)
	}
	s.trace <- l
	return len(text), nil
}

func (s *stand) say(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *stand) start(ask Asking) {
	agent := http.NewServeMux()
	agent.HandleFunc("GET /v1/permission", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.answer == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, s.answer)
	})
	agent.HandleFunc("GET /v1/session", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Podesta-Session") != "open" { // as the agent does
			http.Error(w, "no session", http.StatusBadRequest)
			return
		}
		s.begun.Add(1)
		s.opened <- struct{}{}
		defer func() {
			s.over.Add(1)
			s.closed <- struct{}{}
		}()
		flush := http.NewResponseController(w)
		for flush.Flush() == nil {
			select {
			case <-r.Context().Done():
				return
			case e := <-s.events:
				fmt.Fprintf(w, "event: permission\ndata: %s\n\n", e)
			}
		}
	})
	agents, registers := httptest.NewServer(agent), httptest.NewServer(s.store)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Agent: agents.URL, Register: registers.URL, Group: "g", Process: "g-0", UID: "u", Ask: ask,
			Trace: s, Report: func(text string) { s.reports <- text }})
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() { s.stop(); agents.Close(); registers.Close() })
	if l := s.line(Started); l.Process != "g-0" || l.UID != "u" || l.PID == 0 {
		s.t.Errorf("it began with %+v", l)
	}
}

// line awaits a line of that kind in the trace.
func (s *stand) line(kind Kind) Line {
	for {
		select {
		case l := <-s.trace:
			if l.Kind == kind {
				return l
			}
		case <-time.After(10 * time.Second):
			s.t.Fatalf("no line %q in the trace", kind)
		}
	}
}

// entry awaits a write that fits.
func (s *stand) entry(what string, fits func(register.Entry) bool) register.Entry {
	for {
		select {
		case e := <-s.entries:
			if fits(e) {
				return e
			}
		case <-time.After(10 * time.Second):
			s.t.Fatalf("no write %s", what)
		}
	}
}

func mayAct(epoch int64, deadline register.Instant) string {
	return fmt.Sprintf(`{"name":"g-0","self":"g-0","epoch":%d,"mayAct":true,"deadlineBoottimeNanoseconds":%d}`, epoch, deadline)
}

func withCare(e register.Entry) bool { return !e.Careless }

// Polled once, the writer relies on the deadline until it has passed, though the agent says no
// meanwhile: that is what a deadline promises. No write was checked after it.
func TestADeadlineHoldsUntilItPasses(t *testing.T) {
	deadline := register.Now().Add(2 * time.Second)
	s := newStand(t, mayAct(5, deadline))
	s.start(Poll)
	told := s.line(Told)
	if told.Epoch != 5 || told.Deadline != deadline {
		t.Errorf("told: %+v", told)
	}
	s.say("")
	said := register.Now()
	s.entry("after the agent said no", func(e register.Entry) bool { return withCare(e) && e.Checked > said.Add(2*pollEvery) })
	<-time.After(deadline.Add(2 * pollEvery).Sub(register.Now()))
	s.say(mayAct(6, register.Now().Add(time.Minute)))
	first := s.entry("under the next epoch", func(e register.Entry) bool {
		if e.Epoch == 5 && e.Checked >= deadline {
			t.Errorf("checked after its deadline: %+v", e)
		}
		return e.Epoch == 6
	})
	if first.Since < deadline {
		t.Errorf("the new epoch is no new belief: %+v", first)
	}
}

// A belief that is told again and again is one belief, which began when it was told first.
func TestABeliefGoesOn(t *testing.T) {
	s := newStand(t, mayAct(5, register.Now().Add(time.Minute)))
	s.start(Poll)
	first := s.line(Told)
	again := s.line(Told)
	e := s.entry("after it was told again", func(e register.Entry) bool { return e.Heard >= again.At })
	if e.Since != first.At || e.Epoch != 5 || e.Session || e.Process != "g-0" || e.UID != "u" || e.Checked < e.Heard {
		t.Errorf("%+v, told first at %d", e, first.At)
	}
}

// Told to stop, the writer stops, then closes its session, and opens another one.
func TestASessionEndsWhenToldSo(t *testing.T) {
	s := newStand(t, "")
	s.start(Session)
	<-s.opened
	s.events <- mayAct(5, register.Now().Add(time.Minute))
	if told := s.line(Told); told.Epoch != 5 {
		t.Errorf("told: %+v", told)
	}
	s.entry("over the session", func(e register.Entry) bool { return e.Session && e.Epoch == 5 })
	s.events <- `{"mayAct":false}`
	<-s.closed
	seen := register.Now()
	stopped := s.line(Stopped)
	if stopped.At > seen || stopped.Epoch != 5 || s.early.Load() {
		t.Errorf("it stopped at %d, after the agent saw the session end before %d", stopped.At, seen)
	}
	<-s.opened
}

// When the writer ends, its belief ends first, then its session.
func TestTheEndOfAWriter(t *testing.T) {
	s := newStand(t, "")
	s.start(Session)
	<-s.opened
	s.events <- mayAct(5, register.Now().Add(time.Minute))
	s.line(Told)
	s.stop()
	<-s.closed
	seen := register.Now()
	if stopped := s.line(Stopped); stopped.At > seen || s.early.Load() {
		t.Errorf("it stopped at %d, after the agent saw the session end before %d", stopped.At, seen)
	}
}

// The agents of Classic groups give neither epoch nor deadline: the last answer is believed until
// there is another one.
func TestClassic(t *testing.T) {
	s := newStand(t, `{"name":"g-0","self":"g-0","electing":false}`)
	s.start(Poll)
	if told := s.line(Told); told.Epoch != 0 || told.Deadline != 0 {
		t.Errorf("told: %+v", told)
	}
	s.entry("in Classic", func(e register.Entry) bool { return e.Accepted && e.Epoch == 0 })
	s.say("")
	s.line(Stopped)
	select {
	case text := <-s.reports:
		t.Errorf("it complains: %s", text)
	default:
	}
}

// The register refuses what a careless writer sends late, when another has written under a newer
// epoch.
func TestAStaleWriteIsRefused(t *testing.T) {
	s := newStand(t, mayAct(5, register.Now().Add(time.Minute)))
	s.start(Poll)
	s.entry("with care", withCare)
	if _, err := s.store.Put(register.Write{Group: "g", Process: "g-1", UID: "v", Epoch: 6}); err != nil {
		t.Fatal(err)
	}
	refused := s.entry("refused", func(e register.Entry) bool { return !e.Accepted })
	if refused.Epoch != 5 || refused.Highest != 6 {
		t.Errorf("%+v", refused)
	}
}

// An agent that breaks the contract is reported, and not believed.
func TestABrokenContract(t *testing.T) {
	for name, answer := range map[string]string{
		"an epoch without a deadline": `{"epoch":5,"mayAct":true}`,
		"a deadline without an epoch": `{"mayAct":true,"deadlineBoottimeNanoseconds":99}`,
		"no JSON":                     `yes`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, answer)
			s.start(Poll)
			if text := <-s.reports; !strings.Contains(text, errContract.Error()) {
				t.Errorf("reported: %s", text)
			}
			s.say(mayAct(6, register.Now().Add(time.Minute)))
			if told := s.line(Told); told.Epoch != 6 {
				t.Errorf("it believed %+v", told)
			}
		})
	}
}
