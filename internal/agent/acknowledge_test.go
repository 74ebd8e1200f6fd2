package agent

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// answering is an app with an acknowledged session, in virtual time.
type answering struct {
	t      *testing.T
	api    appAPI
	begun  time.Time
	asked  []time.Duration
	within []time.Duration
	gone   bool
	log    bytes.Buffer
	ended  chan struct{}
}

// answer sends an answer to the app API.
func (a *answering) answer(token string) int {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/acknowledge", nil)
	r.Header.Set("Podesta-Acknowledge", token)
	a.api.acknowledge(w, r)
	return w.Code
}

// opens opens a session in a group with that longest lease. Its app does what answers says.
func opens(t *testing.T, longest time.Duration, answers func(a *answering, token string)) *answering {
	a := &answering{t: t, begun: time.Now(), ended: make(chan struct{})}
	l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(a.begun)} }))
	log := slog.New(slog.NewTextHandler(&a.log, nil))
	a.api = appAPI{views: NewViews(), ledger: l, awaited: &awaited{}, log: log}
	a.api.views.publish(View{Name: "p1", Safety: roster.Guarded, Lease: longest})
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		defer close(a.ended)
		a.api.followAcknowledged(ctx, func(event string, data any) error {
			if event == "acknowledge" {
				q := data.(questionJSON)
				a.asked = append(a.asked, time.Since(a.begun))
				a.within = append(a.within, time.Duration(q.Within)*time.Millisecond)
				answers(a, q.Token)
			}
			return readIf(!a.gone)
		})
	}()
	return a
}

// lives checks that the session has not ended.
func (a *answering) lives() {
	a.t.Helper()
	synctest.Wait()
	select {
	case <-a.ended:
		a.t.Errorf("it has ended; the app was asked at %v", a.asked)
	default:
	}
}

func silent(*answering, string) {}

func prompt(a *answering, token string) { a.answer(token) }

// An app that promised to acknowledge its session and does not has lost it after as long as the
// longest lease, but not before two seconds. It counts as gone.
func TestASessionThatIsNotAcknowledgedEnds(t *testing.T) {
	for longest, want := range map[time.Duration]time.Duration{
		0:                      2 * time.Second, // Classic
		100 * time.Millisecond: 2 * time.Second,
		time.Second:            2 * time.Second,
		30 * time.Second:       30 * time.Second,
	} {
		bubble.Test(t, func(t *testing.T) {
			a := opens(t, longest, silent)
			<-a.ended
			if took := time.Since(a.begun); took != want || a.within[0] != want || len(a.asked) != 4 {
				t.Errorf("longest lease %v: it ended after %v, the app was asked at %v to answer within %v; want %v",
					longest, took, a.asked, a.within, want)
			}
			said := a.log.String()
			if strings.Count(said, "\n") != 1 || !strings.Contains(said, "level=WARN") ||
				!strings.Contains(said, "within="+want.String()) {
				t.Errorf("the agent said: %s", said)
			}
			if !a.api.ledger.deserted() || len(a.api.awaited.tokens) != 0 {
				t.Errorf("the app has a session, or %d questions are left", len(a.api.awaited.tokens))
			}
		})
	}
}

// The app keeps its session while it answers, and loses it when it has stood still for long enough.
func TestASessionLivesWhileItIsAcknowledged(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var stopped atomic.Bool
		a := opens(t, time.Second, func(a *answering, token string) {
			if !stopped.Load() {
				prompt(a, token)
			}
		})
		time.Sleep(time.Minute)
		a.lives()
		stopped.Store(true)
		at := time.Now()
		<-a.ended
		if took := time.Since(at); took < 2*time.Second || took > 2500*time.Millisecond {
			t.Errorf("it ended %v after the app had stopped answering", took)
		}
		if len(a.asked) > 125 {
			t.Errorf("in a minute the app was asked %d times", len(a.asked))
		}
	})
}

// An answer may be late, or lost: the session lives on if one of its questions is answered in time.
func TestALateAcknowledgementCounts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := 0
		a := opens(t, time.Second, func(a *answering, token string) {
			if n++; n%4 == 0 {
				time.AfterFunc(499*time.Millisecond, func() { a.answer(token) })
			}
		})
		time.Sleep(time.Minute)
		a.lives()
	})
}

// An app's answers count once, and for its own session alone.
func TestWhatIsNoAcknowledgement(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var old string
		codes := map[string]int{}
		a := opens(t, time.Second, func(a *answering, token string) {
			if old == "" {
				old = token
				codes["the first time"], codes["again"] = a.answer(token), a.answer(token)
				codes["without a token"], codes["guessed"] = a.answer(""), a.answer("1")
			} else {
				codes["an old one"] = a.answer(old)
			}
		})
		<-a.ended
		for what, code := range codes {
			want := http.StatusConflict
			if what == "the first time" {
				want = http.StatusNoContent
			}
			if code != want {
				t.Errorf("%s: %d, want %d", what, code, want)
			}
		}
		if took := time.Since(a.begun); took != 2500*time.Millisecond {
			t.Errorf("it ended after %v, and the app answered the first question only", took)
		}
	})
}

// An app that has gone is not said to stand still.
func TestAnAppThatIsGoneIsNotToldToAcknowledge(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := opens(t, time.Second, func(a *answering, _ string) { a.gone = len(a.asked) == 4 })
		<-a.ended
		if said := a.log.String(); said != "" {
			t.Errorf("the agent said: %s", said)
		}
	})
}

// What the app was told over the session may be read later, by a program that stood still: it is
// not given back.
func TestAnAppThatDoesNotAcknowledgeMayWakeUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := opens(t, time.Second, silent)
		const deadline = time.Hour
		a.api.ledger.grant(lease.Permission{Epoch: 1, Deadline: deadline})
		<-a.ended
		if told := a.api.ledger.told(); told != deadline {
			t.Errorf("the app relies on its permission until %v, and was told %v", told, deadline)
		}
	})
}

// An agent that stood still, or whose machine was suspended, gives its app the time to answer: it
// was not asked meanwhile.
func TestAnAgentThatStoodStillWaitsForAnAcknowledgement(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		slept := false
		a := opens(t, time.Second, func(a *answering, token string) {
			if !slept {
				slept = true
				time.Sleep(time.Minute) // neither the agent nor the app runs
				time.AfterFunc(time.Second, func() { a.answer(token) })
				return
			}
			if len(a.asked) > 3 {
				prompt(a, token)
			}
		})
		time.Sleep(2 * time.Minute)
		a.lives()
	})
}
