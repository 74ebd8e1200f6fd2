package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// DefaultURL is where agents serve the app in their pod, unless --app-address says otherwise.
const DefaultURL = "http://127.0.0.1:4040"

const (
	// patience with an answer: permissions last about a second, so a later one is of no use.
	patience = 5 * time.Second
	// maxAnswer bounds an answer, and an event. The real ones have 300 bytes.
	maxAnswer = 64 << 10
)

// Client asks one agent. The zero Client asks the one at DefaultURL. It is safe for concurrent use.
type Client struct {
	// URL is the agent's, without a path; empty is DefaultURL.
	URL string
	// HTTP makes the requests; nil is a client of http.DefaultTransport. A Timeout of it would end sessions.
	HTTP *http.Client
	// Ended is told why each session of Follow ended, on Follow's goroutine; nil: nobody is.
	Ended func(error)
}

// Leader asks once. That this process may not act is an answer, not an error; an error permits nothing either. Without a
// deadline of the context's the answer is awaited for 5 s.
func (c *Client) Leader(ctx context.Context) (Permission, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sent, err := now()
	if err != nil {
		return Permission{}, noClock(err)
	}
	resp, err := c.get(ctx, "/v1/leader", "application/json")
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

// Session tells fn, on the caller's goroutine, each permission that the agent sends: the present one at once, each change,
// and a fresh one before the deadline of the last passes. fn must return soon: while it runs nothing newer is heard, and the
// permission that it has runs out.
//
// The agent lets nobody else act before the last deadline that it told has passed, or the session is closed: closing it
// gives the permission up at once, so let the work end first, and the context then. However the session ends, fn is told the
// zero Permission if it was told any, those of this session are not Valid any more, and the error says why. Follow opens
// the next.
func (c *Client) Session(ctx context.Context, fn func(Permission)) error {
	session, end := context.WithCancel(ctx)
	defer end()
	opened, err := now()
	if err != nil {
		return noClock(err)
	}
	resp, err := c.get(session, "/v1/session", "text/event-stream")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // for the error only
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
	if ended { // the agent knows: nothing of it is Valid any more while fn stops what it started
		end()
	}
	if told {
		fn(Permission{}) // if the session is still open, before it is closed, so that fn can stop what it started
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the agent's session ended: %w", err)
}

// told reads a permission out of an event. Without a shared clock an event only says that something changed: since when it
// was under way nobody knows, so the agent is asked, and the answer counted from the question.
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

func (c *Client) get(ctx context.Context, path, accept string) (*http.Response, error) {
	base, client := c.URL, c.HTTP
	if base == "" {
		base = DefaultURL
	}
	if client == nil {
		client = &http.Client{}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	req.Header.Set("Accept", accept)
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
	return errors.Join(errors.New("CLOCK_BOOTTIME cannot be read: nothing is permitted"), err)
}
