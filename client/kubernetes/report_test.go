package podesta

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

func TestTheSameFailureIsLoggedOnceAMinute(t *testing.T) {
	var logged []string
	f := &failures{log: func(err error) { logged = append(logged, err.Error()) }}
	began := time.Now()
	for second, text := range []string{"refused", "refused", "cut", "refused"} {
		f.report(errors.New(text), began.Add(time.Duration(second)*time.Second))
	}
	f.report(errors.New("refused"), began.Add(3*time.Second+repeatAfter-1))
	f.report(errors.New("refused"), began.Add(3*time.Second+repeatAfter))
	if want := []string{"refused", "cut", "refused", "refused"}; !slices.Equal(logged, want) {
		t.Errorf("logged %q, want %q", logged, want)
	}
}

// A lock says that nobody answers, and a client that reports to its user goes on doing so.
func TestALockReportsThatThereIsNoAgent(t *testing.T) {
	if NewLock(nil).agent.Report == nil {
		t.Error("a lock of the pod's agent reports nothing")
	}
	reported := make(chan error, 1)
	l := NewLock(&agent.Client{URL: "http://127.0.0.1:1", Report: func(err error) {
		select {
		case reported <- err:
		default:
		}
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.agent.Run(ctx, func(context.Context, agent.Epoch) error { return nil })
	}()
	if err := receive(t, reported, "the failure"); err == nil {
		t.Error("no failure is reported")
	}
	stop()
	<-ended
}
