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
	"github.com/podesta-dev/podesta/test/bubble"
)

// app is an app in virtual time. It answers by a script, + for healthy and - for unhealthy; the
// last answer repeats.
type app struct {
	begun  time.Time
	prober *apphealth.Prober
	stop   context.CancelFunc

	mu      sync.Mutex
	changes []string
	script  string
	asked   int
}

func startApp(t *testing.T) *app {
	a := &app{begun: time.Now(), prober: apphealth.NewProber()}
	ctx, stop := context.WithCancel(t.Context())
	a.stop = stop
	go a.prober.Run(ctx)
	go func() {
		for {
			select {
			case reason := <-a.prober.Changes():
				a.note(describe(reason) + " at " + time.Since(a.begun).String())
			case <-ctx.Done():
				return
			}
		}
	}()
	return a
}

func (a *app) note(change string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes = append(a.changes, change)
}

func describe(reason error) string {
	if reason == nil {
		return "healthy"
	}
	return reason.Error()
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
	return errors.New("unhealthy")
}

func (a *app) probe(period time.Duration, failures, successes int) *apphealth.Probe {
	return &apphealth.Probe{
		Check:            a.check,
		Period:           period,
		Timeout:          time.Second,
		FailureThreshold: failures,
		SuccessThreshold: successes,
	}
}

// after lets time pass and compares the changes that were reported.
func (a *app) after(t *testing.T, d time.Duration, want string) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := strings.Join(a.changes, ", "); got != want {
		t.Errorf("after %v: %q, want %q", time.Since(a.begun), got, want)
	}
}

// An app that fails every other probe stays healthy; after two failures in a row it is unhealthy
// until ten probes in a row have succeeded.
func TestDamping(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("+-+-+-" + "--" + "+++++++++-" + "++++++++++" + "+")
		a.prober.Use(a.probe(time.Second, 2, 10))
		a.after(t, 30*time.Second, "unhealthy at 7s, healthy at 28s")
	})
}

// An app that is no longer probed is healthy at once, whatever it would answer.
func TestAskedNoMore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("-")
		a.prober.Use(a.probe(time.Second, 2, 10))
		a.after(t, 10*time.Second, "unhealthy at 2s")
		a.prober.Use(nil)
		a.after(t, 10*time.Second, "unhealthy at 2s, healthy at 10s")
		asked := a.asked
		a.after(t, time.Minute, "unhealthy at 2s, healthy at 10s")
		if a.asked != asked {
			t.Error("it is probed")
		}
		a.prober.Use(a.probe(time.Second, 3, 10)) // when it is probed again, the count starts anew
		a.after(t, 4*time.Second, "unhealthy at 2s, healthy at 10s, unhealthy at 1m23s")
	})
}

// Another Probe does not change the health: the consecutive results are counted anew.
func TestAnotherProbe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.says("-")
		a.prober.Use(a.probe(10*time.Second, 2, 2))
		a.after(t, 15*time.Second, "")
		a.prober.Use(a.probe(10*time.Second, 2, 2))
		a.after(t, 10*time.Second, "")
		a.after(t, 10*time.Second, "unhealthy at 35s")
		a.says("+")
		a.after(t, 15*time.Second, "unhealthy at 35s") // one success, at 45 s
		a.prober.Use(a.probe(time.Second, 2, 3))
		a.after(t, 5*time.Second, "unhealthy at 35s, healthy at 53s")
	})
}

// A probe that never returns delays neither another Probe nor the end.
func TestAnswerIsNotWaitedFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := startApp(t)
		silent := &apphealth.Probe{
			Period:           time.Second,
			Timeout:          time.Hour,
			FailureThreshold: 1,
			SuccessThreshold: 1,
			Check:            func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		}
		a.prober.Use(silent)
		a.after(t, 10*time.Second, "")
		a.says("-")
		a.prober.Use(a.probe(time.Second, 1, 1))
		a.after(t, time.Second, "unhealthy at 11s")
		a.prober.Use(silent)
		a.after(t, 10*time.Second, "unhealthy at 11s")
		a.stop()
	})
}

// A probe that is not answered in time has failed. The next one starts at once if it is due.
func TestSilence(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := startApp(t)
		defer a.stop()
		a.prober.Use(&apphealth.Probe{
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 2,
			SuccessThreshold: 1,
			Check:            func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		})
		a.after(t, 5*time.Second, context.DeadlineExceeded.Error()+" at 3s")
	})
}

// A change that was undone before anybody received it is not sent.
func TestOvertakenTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := &app{begun: time.Now(), prober: apphealth.NewProber()}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.prober.Run(ctx)
		a.says("--" + "++" + "-")
		a.prober.Use(a.probe(time.Second, 2, 2))
		time.Sleep(5 * time.Second) // unhealthy at 2 s, healthy at 4 s
		synctest.Wait()
		select {
		case reason := <-a.prober.Changes():
			t.Errorf("reported as %s", describe(reason))
		default:
		}
		if got := <-a.prober.Changes(); got == nil || time.Since(a.begun) != 6*time.Second {
			t.Errorf("%s at %v, want it unhealthy at 6s", describe(got), time.Since(a.begun))
		}
	})
}
