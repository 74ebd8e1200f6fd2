package agent_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
)

// answered is the body of GET / and the data of /sse, to the byte: programs that were written for
// leader-elector read the name, those for nais/elector both fields of every answer, and some of
// them parse no offset but Z.
var answered = regexp.MustCompile(`^\{"name":"(p1|p2|)","last_update":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"\}$`)

// electorEvent is an event of /sse, to the byte: without a type, and with the data first.
var electorEvent = regexp.MustCompile(`^data: (\{.*\})\nid: ([0-9a-f]{16})\n\n$`)

func TestElectorAnswers(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	views, _, kill := serving(t, nil)
	server := serve(t, views)
	check := func(url, want string) {
		t.Helper()
		status, body := fetch(t, url+"/")
		if status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		checkAnswer(t, strings.TrimSuffix(body, "\n"), want, began)
	}
	check(server.URL, "p2")
	kill()
	await(t, views, "p1")
	check(server.URL, "p1")
	check(serve(t, agent.NewViews()).URL, "") // before the first roster
}

func checkAnswer(t *testing.T, body, name string, notBefore time.Time) {
	t.Helper()
	found := answered.FindStringSubmatch(body)
	if found == nil || found[1] != name {
		t.Fatalf("%q; want %q as the name", body, name)
	}
	at, err := time.Parse(time.RFC3339, found[2])
	if err != nil || at.Before(notBefore) || at.After(time.Now()) {
		t.Errorf("the last update was at %v (%v); the test began at %v", at, err, notBefore)
	}
}

func serve(t *testing.T, b *agent.Views) *httptest.Server {
	server := httptest.NewServer(agent.AppAPI(b, agent.NewLedger(agent.MachineClocks{}), agent.NewAccounts(), slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return server
}

// follower reads a stream of events as a client does that connects again and again.
type follower struct {
	t    *testing.T
	url  string
	last string // the ID of the last event
}

// connect opens the stream. The result reads the next event, to the byte.
func (f *follower) connect() (next func() string, disconnect func()) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Podesta-Session", "open")
	if f.last != "" {
		request.Header.Set("Last-Event-ID", f.last)
	}
	response, err := http.DefaultClient.Do(request) //nolint:bodyclose // disconnect closes it
	if err != nil {
		f.t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		f.t.Fatalf("%s, content type %s", response.Status, got)
	}
	lines := bufio.NewReader(response.Body)
	next = func() string {
		f.t.Helper()
		var event strings.Builder
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				f.t.Fatal(err)
			}
			event.WriteString(line)
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				f.last = strings.TrimSpace(id)
			}
			if line == "\n" {
				return event.String()
			}
		}
	}
	return next, func() { response.Body.Close() }
}

// A stream begins with the present state, whatever the client says that it has: the same event if
// nothing has changed since, with the same ID, and otherwise another one.
func TestStreamsResume(t *testing.T) {
	for _, path := range []string{"/sse", "/v1/events"} {
		t.Run(path, func(t *testing.T) {
			views, _, kill := serving(t, nil)
			f := &follower{t: t, url: serve(t, views).URL + path}
			next, disconnect := f.connect()
			first := next()
			before := f.last
			disconnect()
			next, disconnect = f.connect()
			if again := next(); again != first || before == "" || f.last != before {
				t.Errorf("the stream began with\n%s and then, though nothing had changed, with\n%s", first, again)
			}
			disconnect()
			kill()
			await(t, views, "p1")
			next, disconnect = f.connect()
			defer disconnect()
			if other := next(); !strings.Contains(other, `"name":"p1"`) || f.last == before {
				t.Errorf("after a change the stream begins with\n%s after ID %s", other, before)
			}
		})
	}
}

// A program that was written for nais/elector gets its events, and nothing else.
func TestElectorStream(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	views, _, kill := serving(t, nil)
	next, disconnect := (&follower{t: t, url: serve(t, views).URL + "/sse"}).connect()
	defer disconnect()
	name := func(event string) string {
		t.Helper()
		found := electorEvent.FindStringSubmatch(event)
		if found == nil {
			t.Fatalf("this is no event of nais/elector: %q", event)
		}
		var data struct{ Name string }
		if err := json.Unmarshal([]byte(found[1]), &data); err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, found[1], data.Name, began)
		return data.Name
	}
	if got := name(next()); got != "p2" {
		t.Fatalf("it begins with %q", got)
	}
	kill()
	for got := "p2"; got != "p1"; {
		if got = name(next()); got == "p2" {
			t.Fatal("p2 is dead")
		}
	}
}

// All streams together are bounded. Sessions have places of their own.
func TestStreamsAreBounded(t *testing.T) {
	url := serve(t, agent.NewViews()).URL
	for i := range 64 {
		path := []string{"/sse", "/v1/events"}[i%2]
		next, disconnect := (&follower{t: t, url: url + path}).connect()
		defer disconnect()
		next()
	}
	for _, path := range []string{"/sse", "/v1/events"} {
		if status, body := fetch(t, url+path); status != http.StatusTooManyRequests {
			t.Errorf("GET %s beside 64 streams: %d %s", path, status, body)
		}
	}
	if status, body := fetch(t, url+"/"); status != http.StatusOK {
		t.Errorf("GET / beside 64 streams: %d %s", status, body)
	}
	for range 64 {
		_, disconnect := (&follower{t: t, url: url + "/v1/session"}).connect()
		defer disconnect()
	}
	if status, body := fetch(t, url+"/v1/session"); status != http.StatusTooManyRequests {
		t.Errorf("GET /v1/session beside 64 sessions: %d %s", status, body)
	}
}

// fetch returns the status and the body's first line: of a stream the others never end.
func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Podesta-Session", "open")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, line
}
