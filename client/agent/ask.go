package agent

import (
	"context"
	"net/http"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// MayAct asks the agent once whether this process may act, and until when. If it may not, MayAct
// returns a Permission that says so and no error; with an error, nothing is permitted either. It
// waits for the answer for at most 5 s.
//
// What it permits cannot be given back: a hand-over waits until the deadline has passed. To look
// only, use Coordinator; to act for longer, Run.
func (c *Client) MayAct(ctx context.Context) (Permission, error) {
	sent, err := boottime.Now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	a, err := c.ask(ctx, http.MethodGet, "/v1/permission", "Accept", "application/json")
	if err != nil {
		return Permission{}, err
	}
	if err := a.among(http.StatusOK, http.StatusServiceUnavailable); err != nil {
		return Permission{}, err
	}
	received, err := boottime.Now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	p, err := permission(a.body, span{from: sent, to: received})
	p.Granted = p.Granted && a.code == http.StatusOK
	return p, err
}

// Coordinator asks the agent once whom this process follows. It permits nothing and opens no
// session. It waits for the answer for at most 5 s.
func (c *Client) Coordinator(ctx context.Context) (View, error) {
	a, err := c.ask(ctx, http.MethodGet, "/v1/coordinator", "Accept", "application/json")
	if err != nil {
		return View{}, err
	}
	if err := a.among(http.StatusOK, http.StatusServiceUnavailable); err != nil {
		return View{}, err
	}
	return view(a.body)
}

// Suspect reports to the agent that the coordinator of this name does not answer this app. In a
// Classic group that calls an election. In a Guarded group the agent asks the voters first, and
// nothing follows if they hear the coordinator. Suspect returns an error if the agent does not take
// the report: this process does not follow that coordinator, or the last report was less than 10 s
// ago. It waits for the answer for at most 5 s.
func (c *Client) Suspect(ctx context.Context, coordinator string) error {
	a, err := c.ask(ctx, http.MethodPost, "/v1/suspect", "Podesta-Suspect", coordinator)
	if err != nil {
		return err
	}
	return a.among(http.StatusAccepted)
}
