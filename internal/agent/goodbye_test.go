package agent

import (
	"context"
	"testing"

	"github.com/podesta-dev/podesta/internal/transport"
	"github.com/podesta-dev/podesta/test/bubble"
)

// talkative is the links of a process to which others send until it has left.
type talkative struct {
	transport.Links
	events chan transport.Event
	left   bool
}

func (l *talkative) Events() <-chan transport.Event { return l.events }

func (l *talkative) Leave(ctx context.Context) {
	for range 3 {
		select {
		case l.events <- transport.Up{Name: "other"}:
		case <-ctx.Done():
			return
		}
	}
	l.left = true
}

// What others still send does not keep them from hearing that this process ends.
func TestWhoLeavesTakesWhatComes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		links := &talkative{events: make(chan transport.Event)}
		a := agent{Config: Config{Links: links}}
		a.sayGoodbye(t.Context())
		if !links.left {
			t.Error("it gave up before all had heard it")
		}
	})
}
