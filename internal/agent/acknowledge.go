package agent

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// A session that was opened with this value of sessionHeader is acknowledged: the agent asks its
// app, and the session ends if the app does not answer. Otherwise an app that stands still would
// lead for as long as its connection is open, and so would an app that has died, if a child of it
// has inherited the connection.
const sessionAcknowledged = "acknowledged"

// acknowledgeHeader has the token of the question that the app answers.
const acknowledgeHeader = "Podesta-Acknowledge"

// acknowledgeAtLeast is the shortest time that an app has for its answer. Garbage collections, and
// machines that are busy, stop programs for up to a second or so.
const acknowledgeAtLeast = 2 * time.Second

// asksInTime is how often the agent asks in that time, because an answer may be lost.
const asksInTime = 4

// acknowledgeWithin is how long an app has for its answer. An app that stands still for as long as
// the longest lease would have lost that lease, if its agent had stood still with it.
func acknowledgeWithin(longest time.Duration) time.Duration {
	return max(longest, acknowledgeAtLeast)
}

// questionJSON is the event `acknowledge` of a session.
type questionJSON struct {
	Token  string `json:"acknowledge"`
	Within int64  `json:"withinMilliseconds"`
}

// awaited are the questions that nobody has answered: at most one of each session.
type awaited struct {
	mu     sync.Mutex
	tokens map[string]struct{}
}

// add returns the token of a new question. Nobody can guess it, so only who reads the session can
// answer: a process that merely has its connection open does not.
func (w *awaited) add() (token string) {
	token = rand.Text()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tokens == nil {
		w.tokens = map[string]struct{}{}
	}
	w.tokens[token] = struct{}{}
	return token
}

func (w *awaited) has(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.tokens[token]
	return ok
}

// remove reports whether the question was there.
func (w *awaited) remove(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.tokens[token]
	delete(w.tokens, token)
	return ok
}

// acknowledge takes an app's answer.
func (a appAPI) acknowledge(w http.ResponseWriter, r *http.Request) {
	if !a.awaited.remove(r.Header.Get(acknowledgeHeader)) {
		http.Error(w, "the header "+acknowledgeHeader+" answers the newest event acknowledge of a "+
			"session, once: this was answered before, or its session has ended", http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

var errUnanswered = errors.New("the app did not acknowledge its session in time")

// asking is what an acknowledged session asks its app. Its zero value asks nothing.
type asking struct {
	awaited *awaited
	log     *slog.Logger
	token   string        // of the newest question
	asked   int           // how often
	next    lease.Instant // when it is asked again, or the app's time is over
}

// ask asks the app if it is time to. The error says that the app has not answered in time, or has
// gone. It counts questions and not time: an agent could not ask while it stood still, or while its
// machine was suspended.
func (q *asking) ask(now lease.Instant, longest time.Duration, say say) error {
	if q.awaited == nil || now < q.next {
		return nil
	}
	within := acknowledgeWithin(longest)
	switch {
	case !q.awaited.has(q.token): // answered, or the first
		q.token, q.asked = q.awaited.add(), 0
	case q.asked == asksInTime:
		q.log.Warn("the app did not acknowledge its session in time, so the agent ends the session: "+
			"without another one, this process is not a candidate, and if it coordinates it hands "+
			"over; find out what stopped the app, or have it answer each event acknowledge",
			"within", within)
		return errUnanswered
	}
	q.asked++
	q.next = now + within/asksInTime
	return say("acknowledge", questionJSON{Token: q.token, Within: within.Milliseconds()})
}

// end forgets the question that is open.
func (q *asking) end() {
	if q.awaited != nil {
		q.awaited.remove(q.token)
	}
}
