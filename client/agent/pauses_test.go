package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// A program that reads nothing for more than half of its permission says so to the agent, and for
// how long.
func TestAPauseIsReported(t *testing.T) {
	if !boottime.Shared {
		t.Skip("without the agent's clock nobody knows when an event was sent")
	}
	const length, pause = 900 * time.Millisecond, 600 * time.Millisecond
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	a.Grant(7, length)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() {
		read := 0
		c := Client{URL: a.URL}
		ended <- c.Session(ctx, func(Permission) {
			if read++; read == 2 {
				<-time.After(pause)
			}
		})
	}()
	var longest time.Duration
	for n := 1; longest < pause && ctx.Err() == nil; n++ { // on a busy machine it may have others
		longest = max(longest, slices.Max(append(a.Pauses(ctx.Done(), n), 0)))
	}
	end()
	<-ended
	if longest < pause {
		t.Errorf("it stood still for %v, and says %v", pause, longest)
	}
}

// What is a pause: from when one event was sent until the next was read, under one epoch, and more
// than half of what the first permitted.
func TestWhatAPauseIs(t *testing.T) {
	now, err := boottime.Now()
	if err != nil || !boottime.Shared {
		t.Skip("without the agent's clock nobody knows when an event was sent")
	}
	const second = time.Second
	sent := func(ago, length time.Duration, epoch Epoch) Permission {
		return Permission{View: View{Epoch: epoch}, Granted: true, until: now - ago + length, length: length}
	}
	for name, c := range map[string]struct {
		before, next Permission
		pause        bool
	}{
		"in time":                  {sent(4*second, 10*second, 7), sent(0, 10*second, 7), false},
		"more than half":           {sent(6*second, 10*second, 7), sent(0, 10*second, 7), true},
		"it waited in the buffer":  {sent(6*second, 10*second, 7), sent(3*second, 10*second, 7), true},
		"another epoch":            {sent(6*second, 10*second, 7), sent(0, 10*second, 8), false},
		"it led no more":           {sent(6*second, 10*second, 7), Permission{}, false},
		"the first that permits":   {Permission{}, sent(0, 10*second, 7), false},
		"of a Classic group":       {Permission{Granted: true}, Permission{Granted: true}, false},
		"longer than the deadline": {sent(60*second, 10*second, 7), sent(0, 10*second, 7), true},
	} {
		s := pauses{gaps: make(chan time.Duration, 1)}
		s.read(c.before)
		s.read(c.next)
		if got := len(s.gaps) == 1; got != c.pause {
			t.Errorf("%s: a pause: %t", name, got)
		}
	}
}
