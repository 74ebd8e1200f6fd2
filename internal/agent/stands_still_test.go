package agent_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// connection is an app's connection to its agent. Nobody reads what is sent on it, and it takes
// everything, as a buffer of the kernel does for long.
type connection struct{ *httptest.ResponseRecorder }

func (connection) SetWriteDeadline(time.Time) error { return nil }

// standsStill has a process's app open a session and stand still then.
func (g *group) standsStill(name, session string) {
	p := g.agents[name]
	ctx, gone := context.WithCancel(g.t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/session", nil)
	r.Header.Set("Podesta-Session", session)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		agent.AppAPI(p.views, p.ledger, p.accounts, slog.New(slog.DiscardHandler)).ServeHTTP(connection{httptest.NewRecorder()}, r)
	}()
	g.t.Cleanup(func() { gone(); <-ended })
}

// An app that stands still, or has died and left its connection to a child, loses the lead after the
// time in which it is to acknowledge its session, and what it was told until then. Without that
// promise it leads for as long as its connection is open.
func TestAnAppThatStandsStillIsReplaced(t *testing.T) {
	for _, safety := range []string{roster.Guarded, roster.Classic} {
		for _, session := range []string{"open", "acknowledged"} {
			t.Run(safety+" "+session, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					r := guarded("Bully", roster.Never)
					r.Safety = safety
					g := startGroup(t, r, 3)
					g.agree("p3")
					begun := time.Now()
					g.standsStill("p3", session)
					if session == "open" {
						time.Sleep(time.Minute)
						g.agree("p3")
						return
					}
					if safety == roster.Guarded {
						g.acts("p2")
					}
					g.agree("p2")
					if took := time.Since(begun); took > 2*time.Second+leaseTime {
						t.Errorf("it was replaced after %v", took)
					}
					if got := g.agents["p3"].last().NotCandidate; got != roster.NotCandidateNoSession {
						t.Errorf("p3 reports %q", got)
					}
				})
			})
		}
	}
}
