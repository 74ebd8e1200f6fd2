package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

// reading returns the clock's reading; without one the test cannot continue.
func reading(t testing.TB) time.Duration {
	t.Helper()
	at, err := boottime.Now()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// grant is the answer of an agent whose process may act under the epoch for the window from now on.
func grant(t testing.TB, epoch Epoch, window time.Duration) answerJSON {
	return answerJSON{
		viewJSON:                    viewJSON{Name: "a-0", Self: "a-0", Priority: 3, Epoch: epoch},
		MayAct:                      true,
		Deadline:                    time.Now().Add(window),
		DeadlineBoottimeNanoseconds: int64(reading(t) + window),
		RemainingMilliseconds:       window.Milliseconds(),
	}
}

// serve starts an agent whose /v1/permission and /v1/session are the given handlers.
func serve(t *testing.T, leader, session http.HandlerFunc) *Client {
	t.Helper()
	mux := http.NewServeMux()
	if leader != nil {
		mux.HandleFunc("GET /v1/permission", leader)
	}
	if session != nil {
		mux.HandleFunc("GET /v1/session", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Podesta-Session") != "acknowledged" { // as the agent does
				http.Error(w, "no session", http.StatusBadRequest)
				return
			}
			session(w, r)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &Client{URL: server.URL, HTTP: server.Client()}
}

// answers returns a handler that always gives the same answer.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// push sends an event to an open session.
func push(w http.ResponseWriter, name string, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	http.NewResponseController(w).Flush()
}

func TestCoordinatorMayActUntilTheDeadline(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(grant(t, 7, time.Minute))
	}, nil)
	p, err := c.MayAct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !p.Valid() || p.Epoch != 7 || p.Coordinator != "a-0" || p.Self != "a-0" || p.Priority != 3 ||
		p.Deadline.IsZero() {
		t.Errorf("%+v, valid %t", p, p.Valid())
	}
	if r := p.Remaining(); r <= 0 || r > time.Minute {
		t.Errorf("it remains %v of a minute", r)
	}
}

func TestOthersMayNotAct(t *testing.T) {
	c := serve(t, answers(http.StatusServiceUnavailable,
		`{"name": "a-1", "self": "a-0", "priority": 9, "epoch": 8, "electing": false,
		  "since": "2026-05-01T00:00:00Z", "mayAct": false}`), nil)
	p, err := c.MayAct(t.Context())
	if err != nil || p.Granted || p.Valid() || p.Coordinator != "a-1" || p.Epoch != 8 || p.Since.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNothingIsValidInClassicGroups(t *testing.T) {
	c := serve(t, answers(http.StatusOK,
		`{"name": "a-0", "self": "a-0", "electing": false, "mayAct": true}`), nil)
	p, err := c.MayAct(t.Context())
	if err != nil || !p.Granted || p.Valid() || p.Epoch != 0 {
		t.Errorf("%+v, valid %t, %v", p, p.Valid(), err)
	}
}

func TestInvalidAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		says   string
	}{
		"not found":      {http.StatusNotFound, "404 page not found", "404 Not Found"},
		"another server": {http.StatusOK, "<html>", "invalid character"},
		"nothing":        {http.StatusOK, "", "unexpected end"},
		"a proxy's 503": {
			http.StatusServiceUnavailable,
			"no upstream",
			"invalid character",
		},
		"yes, said with a 500": {http.StatusInternalServerError, `{"mayAct": true}`, "500"},
		"longer than any": {
			http.StatusOK,
			`{"name": "` + strings.Repeat("a", maxAnswer) + `"}`,
			"unexpected end",
		},
		"an epoch with a point": {http.StatusOK, `{"mayAct": true, "epoch": 1.5}`, "1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := serve(t, answers(c.status, c.body), nil).MayAct(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || p.Valid() || p.Granted {
				t.Errorf("%+v, %v; want an error that says %q", p, err, c.says)
			}
		})
	}
}

func TestStatus503PermitsNothing(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		json.NewEncoder(w).Encode(grant(t, 7, time.Minute))
	}, nil)
	if p, err := c.MayAct(t.Context()); err != nil || p.Granted || p.Valid() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestErrorWithoutAgentSaysWhatToCheck(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c := &Client{URL: server.URL}
	if _, err := c.MayAct(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "is its sidecar in this pod?") {
		t.Error(err)
	}
}

func TestSessionSendsEachPermission(t *testing.T) {
	c := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		push(w, "permission", answerJSON{viewJSON: viewJSON{Name: "a-1", Self: "a-0"}})
		fmt.Fprint(w, ": still here\n\n")
		push(w, "coordinator", map[string]string{"name": "of no interest here"})
		push(w, "permission", grant(t, 7, time.Minute))
		push(w, "permission", grant(t, 8, time.Minute))
	})
	if !boottime.Shared {
		t.Skip("without a shared clock each event asks /v1/permission")
	}
	var got []string
	err := c.Session(t.Context(), func(p Permission) {
		got = append(got, fmt.Sprintf("%s %d %t", p.Coordinator, p.Epoch, p.Valid()))
	})
	// the last one: the session has ended
	want := []string{"a-1 0 false", "a-0 7 true", "a-0 8 true", " 0 false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("it ended with %v", err)
	}
}

// An agent that ends a session revokes its permissions: they are no longer Valid when fn is called.
func TestNothingIsValidOnceTheSessionHasEnded(t *testing.T) {
	c := serve(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		push(w, "permission", grant(t, 7, time.Minute))
	})
	if !boottime.Shared {
		t.Skip("without a shared clock each event asks /v1/permission")
	}
	var last Permission
	err := c.Session(t.Context(), func(p Permission) {
		if p.Epoch == 0 && last.Valid() {
			t.Error("the session has ended, and its permission is valid")
		}
		last = p
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("it ended with %v", err)
	}
}

func TestClosingASessionEndsThePermission(t *testing.T) {
	closed := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(grant(t, 7, time.Minute))
	},
		func(w http.ResponseWriter, r *http.Request) {
			push(w, "permission", grant(t, 7, time.Minute))
			<-r.Context().Done()
			close(closed)
		})
	ctx, cancel := context.WithCancel(t.Context())
	var told []Permission
	err := c.Session(ctx, func(p Permission) {
		if told = append(told, p); len(told) > 1 {
			return
		}
		if !p.Valid() {
			t.Error("the session is open and the deadline far: it is valid")
		}
		cancel()
		if p.Valid() {
			t.Error("the session is closed: the agent may let another process act")
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(told) != 2 || told[1] != (Permission{}) {
		t.Errorf("told %+v; the last must permit nothing", told)
	}
	<-closed // the agent notices
}

func TestRefusedSession(t *testing.T) {
	c := serve(t, nil, answers(http.StatusTooManyRequests, "64 event streams are open already: "+
		"close one"))
	err := c.Session(t.Context(), func(p Permission) { t.Errorf("told %+v", p) })
	if err == nil || !strings.Contains(err.Error(), "close one") {
		t.Error(err)
	}
}

func TestMalformedEventEndsTheSession(t *testing.T) {
	c := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		push(w, "permission", "neither")
		<-r.Context().Done() // the client closes the session, not the agent
	})
	if err := c.Session(t.Context(), func(p Permission) { t.Errorf("told %+v", p) }); err == nil {
		t.Error("no error")
	}
}

func TestKeepSessionOpensTheNextSession(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	epoch := Epoch(0)
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(grant(t, epoch, time.Minute))
	},
		func(w http.ResponseWriter, _ *http.Request) { // one session follows another
			epoch++
			push(w, "permission", grant(t, epoch, time.Minute))
		})
	ended := 0
	c.Report = func(error) { ended++ }
	var epochs []Epoch
	err := c.KeepSession(ctx, func(p Permission) {
		if epochs = append(epochs, p.Epoch); p.Epoch == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || ended != 2 || fmt.Sprint(epochs) != fmt.Sprint([]Epoch{
		1,
		0,
		2,
		0,
		3,
		0,
	}) {
		t.Errorf("told epochs %v, and of %d sessions that ended, then %v", epochs, ended, err)
	}
}
