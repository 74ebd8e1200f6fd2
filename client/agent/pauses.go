package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// pauses tells the agent when this program read nothing of its session for long: it stood still, or
// was not scheduled. The agent sees nothing of that. It then asks for a lease that is long enough,
// within the group's bounds, so that the next such pause does not end the permission.
//
// It also answers what the agent asks over the session. That shows that this program runs, and
// reads its session. It does not show that the work makes progress.
type pauses struct {
	gaps  chan time.Duration // capacity 1
	asked chan string        // capacity 1: the token of a question that is to be answered
	last  Permission         // zero before the first

	reporter sync.WaitGroup
}

// tell reports gaps to the agent, and answers its questions, until ctx ends. It reports no failure:
// the permission says what holds, and the agent repeats a question that has no answer.
func (s *pauses) tell(ctx context.Context, c *Client) {
	s.gaps, s.asked = make(chan time.Duration, 1), make(chan string, 1)
	s.reporter.Add(1)
	go func() {
		defer s.reporter.Done()
		for {
			select {
			case <-ctx.Done():
				return
			case gap := <-s.gaps:
				_, _ = c.ask(ctx, http.MethodPost, "/v1/paused", "Podesta-Paused",
					strconv.FormatInt(gap.Milliseconds(), 10))
			case token := <-s.asked:
				_, _ = c.ask(ctx, http.MethodPost, "/v1/acknowledge", "Podesta-Acknowledge", token)
			}
		}
	}()
}

// read notes an event of the session. The gap is from when the event before it was sent until now.
// The agent sends the next one when a third of the last permission has passed, or before; what took
// more than half of it could soon take all of it.
func (s *pauses) read(p Permission) {
	before := s.last
	s.last = p
	if !boottime.Shared || before.length == 0 || p.length == 0 || p.Epoch != before.Epoch {
		return
	}
	now, err := boottime.Now()
	if err != nil {
		return
	}
	if gap := now - (before.until - before.length); gap > before.length/2 {
		select {
		case s.gaps <- gap:
		default: // the last one is still being told
		}
	}
}

// acknowledge has a question of the agent answered.
func (s *pauses) acknowledge(question []byte) error {
	var q struct {
		Token string `json:"acknowledge"`
	}
	if err := json.Unmarshal(question, &q); err != nil {
		return fmt.Errorf("the agent's question %.64q: %w", question, err)
	}
	select {
	case s.asked <- q.Token:
	default: // the last answer is still under way
	}
	return nil
}
