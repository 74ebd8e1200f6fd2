package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// DefaultURL is the address at which an agent serves the app in its pod, unless its flag
// --app-address says otherwise.
const DefaultURL = "http://127.0.0.1:4040"

const (
	// patience is how long Leader waits for an answer. Permissions last about a second, so a later
	// answer is of no use.
	patience = 5 * time.Second
	// maxAnswer is the largest answer, and the largest event, in bytes. Real ones have about 300.
	maxAnswer = 64 << 10
)

// Client asks one agent. The zero Client asks the agent at DefaultURL. It is safe for concurrent
// use.
type Client struct {
	// URL is the base URL of the agent, without a path; empty means DefaultURL.
	URL string
	// HTTP makes the requests; nil means a client with http.DefaultTransport. It must not have a
	// Timeout, which would end sessions.
	HTTP *http.Client
	// Ended, if non-nil, is called on Follow's goroutine with the reason each time Follow's session
	// ends.
	Ended func(error)
}

// Leader asks the agent once. If this process may not act, Leader returns a Permission that says so
// and no error; with an error, nothing is permitted either. Leader waits for the answer for at most
// 5 s.
func (c *Client) Leader(ctx context.Context) (Permission, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sent, err := now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	resp, err := c.send(ctx, http.MethodGet, "/v1/leader", "Accept", "application/json")
	if err != nil {
		return Permission{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Permission{}, fmt.Errorf("ask the agent: %w", err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return Permission{}, unexpected(resp, data)
	}
	received, err := now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	p, err := permission(data, span{from: sent, to: received})
	p.MayAct = p.MayAct && resp.StatusCode == http.StatusOK
	return p, err
}

// Session opens a session and calls fn, on the caller's goroutine, with each permission that the
// agent sends: the current one at once, then every change, and a fresh permission before the
// deadline of the last one passes. fn must return soon: while it runs, no newer permission is
// received, and the one it has runs out.
//
// Opening a session ties this process's candidacy to it. Do not open one to look; use Leader
// instead. Until the session is closed, or the last deadline that the agent sent has passed, no
// other process may act. Closing the session gives the permission up at once, so end the work first
// and cancel ctx then.
//
// However the session ends, fn is called once more with the zero Permission if it was called
// before, the permissions of this session are no longer Valid, and the error says why the session
// ended. Follow opens a new session after one has ended.
func (c *Client) Session(ctx context.Context, fn func(Permission)) error {
	session, end := context.WithCancel(ctx)
	defer end()
	opened, err := now()
	if err != nil {
		return noClock(err)
	}
	resp, err := c.send(session, http.MethodGet, "/v1/session", "Accept", "text/event-stream",
		"Podesta-Session", "open")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // used in the error only
		return unexpected(resp, data)
	}
	told := false
	ended, err := readEvents(resp.Body, func(e event) error {
		if e.name != "permission" {
			return nil
		}
		p, err := c.told(session, e, opened)
		if err != nil {
			return err
		}
		told, p.session = true, session
		fn(p)
		return nil
	})
	// the agent knows that the session has ended, so its permissions end before fn stops the work
	if ended {
		end()
	}
	if told {
		fn(Permission{}) // if the session is still open, fn can stop the work before it is closed
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the agent's session ended: %w", err)
}

// told returns the permission of an event. Without a shared clock an event only shows that
// something has changed, because the time that it was under way is unknown; then told asks the
// agent, and counts the deadline from before the question.
func (c *Client) told(ctx context.Context, e event, opened time.Duration) (Permission, error) {
	if !sharedClock {
		return c.Leader(ctx)
	}
	received, err := now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	return permission(e.data, span{from: opened, to: received})
}

// Suspect reports to the agent that the coordinator of this name does not answer this app. In a
// Classic group that calls an election. In a Guarded group the agent asks the voters first, and
// nothing follows if they hear the coordinator. Suspect returns an error if the agent does not take
// the report: this process does not follow that coordinator, or the last report was less than 10 s
// ago. It waits for the answer for at most 5 s.
func (c *Client) Suspect(ctx context.Context, coordinator string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := c.send(ctx, http.MethodPost, "/v1/suspect", "Podesta-Suspect", coordinator)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("ask the agent: %w", err)
	}
	if resp.StatusCode != http.StatusAccepted {
		return unexpected(resp, data)
	}
	return nil
}

// send asks the agent. Headers are names and values in turn.
func (c *Client) send(ctx context.Context, method, path string, headers ...string) (*http.Response,
	error) {
	base, client := c.URL, c.HTTP
	if base == "" {
		base = DefaultURL
	}
	if client == nil {
		client = &http.Client{}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the agent (is its sidecar in this pod?): %w", err)
	}
	return resp, nil
}

func unexpected(resp *http.Response, body []byte) error {
	return fmt.Errorf("the agent answered %s: %.200s", resp.Status, body)
}

func noClock(err error) error {
	return errors.Join(errors.New("cannot read CLOCK_BOOTTIME, so nothing is permitted: check "+
		"the container's seccomp profile"), err)
}
