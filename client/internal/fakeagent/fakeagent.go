// Package fakeagent is an agent's side of the app API, for tests: what a real agent would permit is
// said by the test. It keeps to the agent's rules for sessions: a fresh permission when a third of
// the last one has passed, no word after it was revoked until there is another, and nothing is
// permitted any more when the last session has ended.
package fakeagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// Agent is an agent of the process "a-0". Safe for concurrent use.
type Agent struct {
	// URL is where it serves the app.
	URL string

	server *httptest.Server

	mu      sync.Mutex
	changed chan struct{} // closed when something below changes
	epoch   int64         // 0: nothing is permitted
	length  time.Duration // of each permission
	frozen  bool
	garbled bool
	classic bool // this process coordinates a Classic group

	ofClassic bool
	other     string // who coordinates while this process does not
	open      int    // sessions
	opened    int    // sessions so far
	told      time.Duration
	pauses    []time.Duration // that the app has reported
	asked     int             // questions to each session
	answers   int             // to the newest of them
}

// Start starts an agent that permits nothing. Close ends it.
func Start() *Agent {
	a := &Agent{changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/session", a.session)
	mux.HandleFunc("GET /v1/permission", a.permission)
	mux.HandleFunc("GET /v1/coordinator", func(w http.ResponseWriter, _ *http.Request) {
		body, _ := a.answer()
		write(w, body["name"] != "", body)
	})
	mux.HandleFunc("GET /v1/events", a.events)
	mux.HandleFunc("POST /v1/paused", a.paused)
	mux.HandleFunc("POST /v1/acknowledge", a.acknowledge)
	a.server = httptest.NewServer(mux)
	a.URL = a.server.URL
	return a
}

// Close cuts all connections, as the end of the agent's process does.
func (a *Agent) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// Cut cuts all connections, and goes on: the agent was restarted.
func (a *Agent) Cut() { a.server.CloseClientConnections() }

func (a *Agent) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// Grant permits to act under the epoch, until it is revoked, for such a time with each message.
func (a *Agent) Grant(epoch int64, length time.Duration) {
	a.change(func() { a.epoch, a.length = epoch, length })
}

// Revoke takes the permission back.
func (a *Agent) Revoke() { a.change(func() { a.epoch, a.classic = 0, false }) }

// Classic says that the group is Classic.
func (a *Agent) Classic() { a.change(func() { a.ofClassic = true }) }

// Elect says that this process coordinates a Classic group.
func (a *Agent) Elect() { a.change(func() { a.classic = true }) }

// Follow says that this process follows another one.
func (a *Agent) Follow(other string) { a.change(func() { a.epoch, a.other = 0, other }) }

// Garble has it send what nobody can read.
func (a *Agent) Garble() { a.change(func() { a.garbled = true }) }

// Freeze has the agent say nothing more, as one that is paused.
func (a *Agent) Freeze() { a.change(func() { a.frozen = true }) }

// Thaw ends that.
func (a *Agent) Thaw() { a.change(func() { a.frozen = false }) }

// Ask asks each session whether its app is there.
func (a *Agent) Ask() { a.change(func() { a.asked++; a.answers = 0 }) }

// AwaitAnswer returns once somebody has answered that.
func (a *Agent) AwaitAnswer(done <-chan struct{}) error {
	for {
		a.mu.Lock()
		answers, changed := a.answers, a.changed
		a.mu.Unlock()
		if answers > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-done:
			return errors.New("nobody has acknowledged the session")
		}
	}
}

func (a *Agent) acknowledge(w http.ResponseWriter, r *http.Request) {
	a.change(func() {
		if r.Header.Get("Podesta-Acknowledge") == strconv.Itoa(a.asked) {
			a.answers++
		}
	})
	w.WriteHeader(http.StatusNoContent)
}

// Told returns the latest deadline that it has sent over a session.
func (a *Agent) Told() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told
}

// Await returns once ok of the sessions that are open and that have ever been opened.
func (a *Agent) Await(done <-chan struct{}, ok func(open, ever int) bool) error {
	for {
		a.mu.Lock()
		open, ever, changed := a.open, a.opened, a.changed
		a.mu.Unlock()
		if ok(open, ever) {
			return nil
		}
		select {
		case <-changed:
		case <-done:
			return fmt.Errorf("%d sessions are open, and %d were ever", open, ever)
		}
	}
}

// answer is what it says of a permission now, and for how long.
func (a *Agent) answer() (body map[string]any, length time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body = map[string]any{
		"name": a.other, "self": "a-0", "group": "a", "electing": false, "mayAct": false,
		"safety": "Guarded",
	}
	if a.ofClassic {
		body["safety"] = "Classic"
	}
	switch now, _ := boottime.Now(); {
	case a.classic:
		body["name"], body["mayAct"] = "a-0", true
	case a.epoch != 0:
		a.told = now + a.length
		body["name"], body["priority"], body["epoch"], body["mayAct"] = "a-0", 3, a.epoch, true
		body["deadline"] = time.Now().Add(a.length)
		body["deadlineBoottimeNanoseconds"] = int64(now + a.length)
		body["renewedBoottimeNanoseconds"] = int64(now)
		body["remainingMilliseconds"] = a.length.Milliseconds()
		return body, a.length
	}
	return body, 0
}

func (a *Agent) paused(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.Header.Get("Podesta-Paused"))
	if err != nil || n < 1 {
		http.Error(w, "no number of milliseconds", http.StatusBadRequest)
		return
	}
	a.change(func() { a.pauses = append(a.pauses, time.Duration(n)*time.Millisecond) })
	w.WriteHeader(http.StatusNoContent)
}

// Pauses returns for how long the app has said that it read nothing, once it has said so as often
// as n, or done is closed.
func (a *Agent) Pauses(done <-chan struct{}, n int) []time.Duration {
	for {
		a.mu.Lock()
		all, changed := slices.Clone(a.pauses), a.changed
		a.mu.Unlock()
		if len(all) >= n {
			return all
		}
		select {
		case <-changed:
		case <-done:
			return all
		}
	}
}

func (a *Agent) permission(w http.ResponseWriter, _ *http.Request) {
	body, _ := a.answer()
	write(w, body["mayAct"] == true, body)
}

func write(w http.ResponseWriter, ok bool, body any) {
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (a *Agent) session(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Podesta-Session") != "acknowledged" {
		http.Error(w, "no session", http.StatusBadRequest)
		return
	}
	a.change(func() { a.open++; a.opened++ })
	defer a.change(func() {
		if a.open--; a.open == 0 {
			a.epoch, a.classic = 0, false // the process has withdrawn
		}
	})
	a.stream(w, r, "permission")
}

func (a *Agent) events(w http.ResponseWriter, r *http.Request) { a.stream(w, r, "coordinator") }

// stream sends what it says: now, when it may have changed, and before it is over.
func (a *Agent) stream(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Content-Type", "text/event-stream")
	told := 0
	for {
		a.mu.Lock()
		frozen, garbled, asked, changed := a.frozen, a.garbled, a.asked, a.changed
		a.mu.Unlock()
		if asked != told && name == "permission" {
			fmt.Fprintf(w, "event: acknowledge\ndata: {\"acknowledge\":\"%d\"}\n\n", asked)
			told = asked
		}
		again := time.Hour
		if !frozen {
			body, length := a.answer()
			if length > 0 {
				again = length / 3
			}
			data, _ := json.Marshal(body)
			if garbled {
				data = []byte("{")
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
			_ = http.NewResponseController(w).Flush()
		}
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-changed:
		case <-r.Context().Done():
		}
		timer.Stop()
		if r.Context().Err() != nil {
			return
		}
	}
}
