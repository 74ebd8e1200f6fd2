package writer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// Asking is how a writer asks its agent.
type Asking string

// The ways of asking.
const (
	// Poll asks again and again, and relies on the deadline of each answer until it passes, whatever a
	// later answer says: that is what a deadline promises. In Classic groups, which have none, it
	// believes the last answer.
	Poll Asking = "poll"
	// Session keeps a connection open and is told. It stops when the agent says so or the connection
	// ends, at a deadline at the latest; then it closes the connection, which gives the permission
	// back.
	Session Asking = "session"
)

// How often an agent is polled, and how long an answer may take. A session that ended is opened
// again after as long.
const (
	pollEvery   = 100 * time.Millisecond
	pollTimeout = time.Second
)

// maxAnswer bounds what is read of an answer or an event, in bytes.
const maxAnswer = 64 << 10

// answer is what the agent says of this process; an answer without an epoch is of a Classic group.
type answer struct {
	MayAct   bool             `json:"mayAct"`
	Epoch    int64            `json:"epoch"`
	Deadline register.Instant `json:"deadlineBoottimeNanoseconds"`
}

// errContract: the agent says what no agent may say. An agent that is down or paused is no such
// thing.
var errContract = errors.New("the agent breaks its contract")

// read reads an answer; yes is what its status said already.
func read(text []byte, yes bool) (a answer, err error) {
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{}, fmt.Errorf("%w: %.200q: %w", errContract, text, err)
	}
	a.MayAct = a.MayAct || yes
	if a.MayAct && (a.Epoch != 0) != (a.Deadline != 0) {
		return answer{}, fmt.Errorf("%w: epoch %d with deadline %d: a Guarded group has both, a "+
			"Classic one neither", errContract, a.Epoch, a.Deadline)
	}
	return a, nil
}

// asker keeps a belief up to date.
type asker struct {
	agent  string // base URL
	client *http.Client
	belief *belief
	report func(error) // of what should not be
}

// run asks until ctx ends.
func (a *asker) run(ctx context.Context, how Asking) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if how == Poll {
			a.poll(ctx)
		} else if err := a.session(ctx); errors.Is(err, errContract) {
			a.report(err)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// poll asks once. A belief that has no deadline ends with any answer but yes, and when there is
// none: nothing else would end it.
func (a *asker) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	said, err := a.leader(ctx)
	heard := register.Now()
	if errors.Is(err, errContract) {
		a.report(err)
	}
	if err == nil && said.MayAct {
		a.belief.told(heard, said, Poll)
	} else if p, ok, _ := a.belief.check(heard); ok && p.deadline == 0 {
		a.belief.stop("not told any more")
	}
}

// leader asks whether this process may act.
func (a *asker) leader(ctx context.Context) (said answer, err error) {
	response, err := a.get(ctx, "/v1/permission")
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return read(body, true) // the status says so; Classic answers say no more
	case http.StatusServiceUnavailable:
		return answer{}, nil
	default:
		return answer{}, fmt.Errorf("%w: GET /v1/permission: %s: %.200s", errContract,
			response.Status, body)
	}
}

// session listens until it is over, and then believes nothing any more.
func (a *asker) session(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := a.get(ctx, "/v1/session")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: GET /v1/session: %s", errContract, response.Status)
	}
	// The belief ends, and the trace has it, before the connection does.
	defer a.belief.stop("the session is over")
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		heard := register.Now()
		said, err := read(data, false)
		if err != nil {
			return err
		}
		if said.MayAct {
			a.belief.told(heard, said, Session)
		} else if a.belief.stop("told to stop") {
			return nil // closing says that it has stopped
		}
	}
	return lines.Err()
}

func (a *asker) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.agent+path, nil)
	if err != nil {
		return nil, err
	}
	if path == "/v1/session" {
		request.Header.Set("Podesta-Session", "open")
	}
	return a.client.Do(request)
}
