package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultURL is the address at which an agent serves the app in its pod, unless its flag
// --app-address says otherwise.
const DefaultURL = "http://127.0.0.1:4040"

// PathVariable names the environment variable that injection sets in the containers of the app: the
// agent's address, without a scheme.
const PathVariable = "ELECTOR_PATH"

const (
	// patience is how long a question waits for an answer. Permissions last about a second, so a later
	// answer is of no use.
	patience = 5 * time.Second
	// maxAnswer is the largest answer, and the largest event, in bytes. Real ones have about 300.
	maxAnswer = 64 << 10
)

// Client asks one agent. The zero Client asks the agent of its pod. It is safe for concurrent use.
type Client struct {
	// URL is the base URL of the agent, without a path. If it is empty, the agent is at the address
	// that the environment variable ELECTOR_PATH has; without that, at DefaultURL.
	URL string
	// HTTP makes the requests; nil means a client with http.DefaultTransport. Its Timeout is for
	// questions: sessions and streams have none.
	HTTP *http.Client
	// Report, if non-nil, is called with each failure after which Run, KeepSession and Watch go on,
	// for a log: the agent is not there, a session or stream has ended, or the work returned an
	// error after its permission had ended. It must return soon. If Report is nil, the client logs
	// once, by slog, that no agent listens at a URL, and nothing else.
	Report func(error)
	// StopWithin is how long the work of Run may need to stop when its permission is not renewed. Its
	// context ends that long before the deadline: at the latest when a quarter of the permission is
	// left, and otherwise not before half of it and half a second have passed.
	StopWithin time.Duration
	// Overdue, if non-nil, is called when the work of Run goes on and the permission is about to end.
	// An eighth of the permission is left then, and 5 ms at the least. The argument is the reason why
	// the work's context has ended. After a pause of the program, Overdue is called as soon as the
	// program goes on. Set it to Exit to end the process then. If Overdue is nil or returns, the work
	// goes on, and another process may work at the same time.
	Overdue func(why error)
}

// BaseURL returns the URL of the agent that this client asks.
func (c *Client) BaseURL() string {
	address := os.Getenv(PathVariable)
	switch {
	case c.URL != "":
		return c.URL
	case address == "":
		return DefaultURL
	case strings.Contains(address, "://"):
		return address
	default:
		return "http://" + address
	}
}

// Check returns an error if URL is none, and never will be. It asks nobody. Another scheme than
// http and https needs a transport in HTTP that knows it.
func (c *Client) Check() error {
	u, err := url.Parse(c.BaseURL())
	switch own := c.HTTP != nil && c.HTTP.Transport != nil; {
	case err != nil, u.Scheme == "":
	case own, (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	}
	return fmt.Errorf("the agent's URL must be like %s, and is %q", DefaultURL, c.BaseURL())
}

// report tells of a failure, unless ctx has ended: then nothing goes on.
func (c *Client) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case c.Report != nil:
		c.Report(err)
	default:
		sayIfAbsent(c.BaseURL(), err)
	}
}

// absent are the URLs at which no agent listened, and for which the log says so. A program has few.
var absent sync.Map

// sayIfAbsent logs, once for each URL, that no agent listens there.
func sayIfAbsent(base string, err error) {
	var refused *net.OpError
	if !errors.As(err, &refused) || refused.Op != "dial" {
		return
	}
	if _, said := absent.LoadOrStore(base, true); !said {
		slog.Warn("no Podesta agent listens at this URL, so this process does not coordinate. It waits "+
			"for the agent. Does the pod have the sidecar podesta-agent?", "url", base, "error", err)
	}
}

// answer is the whole response to a question.
type answer struct {
	code   int
	status string
	body   []byte
}

// ask makes a request and waits for the answer.
func (c *Client) ask(ctx context.Context, method, path string, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := c.send(ctx, method, path, headers...)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("ask the agent: %w", err)
	}
	return answer{
		code:   resp.StatusCode,
		status: resp.Status,
		body:   data,
	}, nil
}

// among returns an error unless the answer has one of the status codes.
func (a answer) among(codes ...int) error {
	if slices.Contains(codes, a.code) {
		return nil
	}
	return fmt.Errorf("the agent answered %s: %.200s", a.status, a.body)
}

// stream opens a stream of server-sent events. Its reader closes the body.
func (c *Client) stream(
	ctx context.Context, path string, headers ...string,
) (io.ReadCloser, error) {
	lasting := *c
	if c.HTTP != nil {
		client := *c.HTTP
		client.Timeout = 0 // it would give a permission back while the work goes on
		lasting.HTTP = &client
	}
	resp, err := lasting.send(ctx, http.MethodGet, path,
		append([]string{"Accept", "text/event-stream"}, headers...)...)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // used in the error only
		return nil, answer{status: resp.Status, body: data}.among()
	}
	return resp.Body, nil
}

// send asks the agent. Headers are names and values in turn.
func (c *Client) send(ctx context.Context, method, path string, headers ...string) (*http.Response,
	error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	base, client := c.BaseURL(), c.HTTP
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

func noClock(err error) error {
	return errors.Join(errors.New("cannot read CLOCK_BOOTTIME, so nothing is permitted: check "+
		"the container's seccomp profile"), err)
}
