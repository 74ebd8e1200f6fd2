package agent

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

func answered(t *testing.T, a *fakeagent.Agent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	if err := a.AwaitAnswer(ctx.Done()); err != nil {
		t.Fatal(err)
	}
}

// Run answers its agent whether its process may act or not, and while the work takes its time.
func TestRunAcknowledgesItsSession(t *testing.T) {
	p := starts(t)
	p.sessions(1, 1)
	p.agent.Ask()
	answered(t, p.agent)
	p.agent.Grant(7, long)
	work := p.begins()
	for range 3 {
		p.agent.Ask()
		answered(t, p.agent)
	}
	p.stop(nil)
	p.ends(work)
	p.agent.Ask() // the work is still to return
	answered(t, p.agent)
	work.returns <- nil
	p.returned()
}

// A program that does not read its session, because the function that it gave Session does not
// return, does not answer either.
func TestWhoDoesNotReadASessionDoesNotAcknowledgeIt(t *testing.T) {
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	a.Grant(7, long)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	called, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	go func() {
		c := Client{URL: a.URL}
		ended <- c.Session(ctx, func(Permission) {
			first.Do(func() {
				close(called)
				<-goOn
			})
		})
	}()
	<-called
	a.Ask()
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if a.AwaitAnswer(soon.Done()) == nil {
		t.Error("it answers")
	}
	close(goOn)
	answered(t, a)
	end()
	<-ended
}
