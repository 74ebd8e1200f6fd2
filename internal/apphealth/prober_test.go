package apphealth_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/apphealth"
)

// app is an app in virtual time: it answers by a script, + well and - ill, the last of which goes on.
type app struct {
	begun  time.Time
	prober *apphealth.Prober
	stop   context.CancelFunc

	mu     sync.Mutex
	turns  []string
	script string
	asked  int
}

func startApp(t *testing.T) *app {
	a := &app{begun: time.Now(), prober: apphealth.NewProber()}
	ctx, stop := context.WithCancel(t.Context())
	a.stop = stop
	go a.prober.Run(ctx)
	go func() {
		for {
			select {
			case ailment := <-a.prober.Turns():
				a.note(response(ailment) + " at " + time.Since(a.begun).String())
			case <-ctx.Done():
				return
			}
		}
	}()
	return a
}

func (a *app) note(turn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns = append(a.turns, turn)
}

func response(ailment error) string {
	if ailment == nil {
		return "well"
	}
	return ailment.Error()
}

func (a *app) says(script string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script, a.asked = script, 0
}

func (a *app) check(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := min(a.asked, len(a.script)-1)
	a.asked++
	if a.script[at] == '+' {
		return nil
	}
	return errors.New("ill")
}

func (a *app) probe(every time.Duration, toIll, toWell int) *apphealth.Probe {
	return &apphealth.Probe{Check: a.check, Every: every, Within: time.Second, ToIll: toIll, ToWell: toWell}
}

// after lets time pass and compares what was said.
func (a *app) after(t *testing.T, d time.Duration, want string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := strings.Join(a.turns, ", "); got != want {
		t.Errorf("after %v: %q, want %q", time.Since(a.begun), got, want)
	}
}

// An app that fails every other time is never ill; one that failed twice is, until it has been well ten times in a row.
func TestDamping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("+-+-+-" + "--" + "+++++++++-" + "++++++++++" + "+")
		a.prober.Use(a.probe(time.Second, 2, 10))
		a.after(t, 30*time.Second, "ill at 7s, well at 28s")
	})
}

// The thresholds and the period are the probe's.
func TestThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("--+--" + "---" + "++" + "-" + "+++")
		a.prober.Use(a.probe(3*time.Second, 4, 3))
		a.after(t, time.Minute, "ill at 21s, well at 42s")
	})
}

// An app that is asked no more is well: at once, and whatever it would answer.
func TestAskedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("-")
		a.prober.Use(a.probe(time.Second, 2, 10))
		a.after(t, 10*time.Second, "ill at 2s")
		a.prober.Use(nil)
		a.after(t, 10*time.Second, "ill at 2s, well at 10s")
		asked := a.asked
		a.after(t, time.Minute, "ill at 2s, well at 10s")
		if a.asked != asked {
			t.Error("it is asked")
		}
		a.prober.Use(a.probe(time.Second, 3, 10)) // and asked again it is ill after that many answers, not fewer
		a.after(t, 4*time.Second, "ill at 2s, well at 10s, ill at 1m23s")
	})
}

// Another probe neither heals an app nor makes it ill: it counts anew.
func TestAnotherProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("-")
		a.prober.Use(a.probe(10*time.Second, 2, 2))
		a.after(t, 15*time.Second, "")
		a.prober.Use(a.probe(10*time.Second, 2, 2))
		a.after(t, 10*time.Second, "")
		a.after(t, 10*time.Second, "ill at 35s")
		a.says("+")
		a.after(t, 15*time.Second, "ill at 35s") // well at 45s, once
		a.prober.Use(a.probe(time.Second, 2, 3))
		a.after(t, 5*time.Second, "ill at 35s, well at 53s")
	})
}

// A question that nobody answers delays neither another probe nor the end.
func TestAnswerIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		silent := &apphealth.Probe{Every: time.Second, Within: time.Hour, ToIll: 1, ToWell: 1,
			Check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		a.prober.Use(silent)
		a.after(t, 10*time.Second, "")
		a.says("-")
		a.prober.Use(a.probe(time.Second, 1, 1))
		a.after(t, time.Second, "ill at 11s")
		a.prober.Use(silent)
		a.after(t, 10*time.Second, "ill at 11s")
		a.stop()
	})
}

// A question that is not answered in time is answered badly; the next one is put at once if it is due.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.prober.Use(&apphealth.Probe{Every: time.Second, Within: time.Second, ToIll: 2, ToWell: 1,
			Check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		a.after(t, 5*time.Second, context.DeadlineExceeded.Error()+" at 3s")
	})
}

// A turn that was taken back before anybody took it is not said.
func TestOvertakenTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &app{begun: time.Now(), prober: apphealth.NewProber()}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.prober.Run(ctx)
		a.says("--" + "++" + "-")
		a.prober.Use(a.probe(time.Second, 2, 2))
		time.Sleep(5 * time.Second) // ill at 2 s, well at 4 s
		synctest.Wait()
		select {
		case ailment := <-a.prober.Turns():
			t.Errorf("it is said to be %s", response(ailment))
		default:
		}
		if got := <-a.prober.Turns(); got == nil || time.Since(a.begun) != 6*time.Second {
			t.Errorf("%s at %v, want it ill at 6s", response(got), time.Since(a.begun))
		}
	})
}
