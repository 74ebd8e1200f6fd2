package fence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/client/agent"
)

// register is a resource: a value that PUT replaces.
type register struct{ value string }

func (r *register) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.value = string(body)
	epoch, _ := EpochOf(req.Context())
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "written under %d", epoch)
}

// put is a request with these values of the header.
func put(body string, epochs ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader(body))
	for _, e := range epochs {
		r.Header.Add(Header, e)
	}
	return r
}

func TestHandlerRefusesWithReason(t *testing.T) {
	for name, c := range map[string]struct {
		request *http.Request
		status  int
		says    string
	}{
		"stale":               {put("x", "5"), http.StatusPreconditionFailed, "epoch 0.5 is stale: 0.7 was seen; stop acting"},
		"stale, and too long": {put(strings.Repeat("x", 101), "5"), http.StatusPreconditionFailed, "stale"}, // it is not read
		"no epoch":            {put("x"), http.StatusPreconditionRequired, "in the header Podesta-Epoch"},
		"two epochs":          {put("x", "7", "8"), http.StatusBadRequest, "send one Podesta-Epoch, not 2"},
		"a list":              {put("x", "7, 8"), http.StatusBadRequest, "no epoch"},
		"zero, as in Classic": {put("x", "0"), http.StatusBadRequest, "only Guarded groups"},
		"negative":            {put("x", "-7"), http.StatusBadRequest, "no epoch"},
		"2⁵³":                 {put("x", "9007199254740992"), http.StatusBadRequest, "no epoch"},
		"too long":            {put(strings.Repeat("x", 101), "7"), http.StatusRequestEntityTooLarge, "100 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var g Gate
			_ = g.Admit(7)
			r := &register{value: "before"}
			w := httptest.NewRecorder()
			(&Handler{Gate: &g, Next: r, MaxBytes: 100}).ServeHTTP(w, c.request)
			var said struct{ Error string }
			if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != c.status || !strings.Contains(said.Error, c.says) {
				t.Errorf("%d %q, want %d and %q", w.Code, said.Error, c.status, c.says)
			}
			if r.value != "before" || g.Seen() != 7 {
				t.Errorf("it was written %q, seen %d", r.value, g.Seen())
			}
		})
	}
}

func TestHandlerLetsThroughWhatIsNotStale(t *testing.T) {
	var g Gate
	_ = g.Admit(7)
	r := &register{}
	for _, epoch := range []string{"7", "7", "9"} {
		w := httptest.NewRecorder()
		(&Handler{Gate: &g, Next: r}).ServeHTTP(w, put("by "+epoch, epoch))
		if w.Code != http.StatusCreated || w.Body.String() != "written under "+epoch || r.value != "by "+epoch ||
			w.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("epoch %s: %d %q %v; the value is %q", epoch, w.Code, w.Body, w.Header(), r.value)
		}
	}
	if g.Seen() != 9 {
		t.Error(g.Seen())
	}
}

func TestAnAnswerThatIsTooLong(t *testing.T) {
	var g Gate
	var told error
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 2 {
			_, told = w.Write(bytes.Repeat([]byte("x"), 51))
		}
	})
	w := httptest.NewRecorder()
	(&Handler{Gate: &g, Next: next, MaxBytes: 100}).ServeHTTP(w, put("x", "7"))
	if w.Code != http.StatusInternalServerError || !errors.Is(told, errLong) || !strings.Contains(w.Body.String(), "may have had its effect") {
		t.Error(w.Code, w.Body, told)
	}
}

func TestAClosedGateIsNotThePeersFault(t *testing.T) {
	g := opened(t, filepath.Join(t.TempDir(), "epoch"))
	g.Close()
	w := httptest.NewRecorder()
	(&Handler{Gate: g, Next: &register{}}).ServeHTTP(w, put("x", "7"))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "nothing was done") {
		t.Error(w.Code, w.Body)
	}
}

// The paused coordinator had sent half of its request: the new one does not wait for the other
// half, which then is refused.
func TestHalfARequestKeepsNobodyWaiting(t *testing.T) {
	var g Gate
	r := &register{}
	arrived := make(chan struct{}, 2)
	h := &Handler{Gate: &g, Next: r}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		h.ServeHTTP(w, req)
	}))
	defer server.Close()
	old, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	fmt.Fprintf(old, "PUT / HTTP/1.0\r\nPodesta-Epoch: 5\r\nContent-Length: 6\r\n\r\nsta")
	<-arrived

	c := &http.Client{Transport: Transport{Base: server.Client().Transport}}
	req, _ := http.NewRequestWithContext(WithEpoch(t.Context(), 7), http.MethodPut, server.URL, strings.NewReader("fresh"))
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status)
	}
	fmt.Fprint(old, "le!")
	// The other half may come when the server has closed, which then answers it with a reset.
	said, err := io.ReadAll(old)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) ||
		!bytes.HasPrefix(said, []byte("HTTP/1.0 412 ")) {
		t.Errorf("%v: %s", err, said)
	}
	if r.value != "fresh" {
		t.Errorf("the value is %q", r.value)
	}
}

func TestTransportSendsTheEpochOfTheWork(t *testing.T) {
	var g Gate
	server := httptest.NewServer(&Handler{Gate: &g, Next: &register{}})
	defer server.Close()
	c := &http.Client{Transport: Transport{Base: server.Client().Transport}}
	write := func(ctx context.Context, header agent.Epoch) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		if header != 0 {
			SetEpoch(req, header)
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if header == 0 && req.Header.Get(Header) != "" {
			t.Error("the caller's request was changed")
		}
		return CheckResponse(resp)
	}
	if err := write(t.Context(), 0); !errors.Is(err, ErrNoEpoch) {
		t.Errorf("work without an epoch: %v", err)
	}
	if err := write(t.Context(), 7); err != nil {
		t.Errorf("an epoch set by hand: %v", err)
	}
	err := write(WithEpoch(t.Context(), 5), 0)
	if stale := (*StaleError)(nil); !errors.As(err, &stale) || *stale != (StaleError{Epoch: 5, Seen: 7}) {
		t.Errorf("stale work: %v", err)
	}
	if err := write(WithEpoch(t.Context(), 9), 5); err != nil || g.Seen() != 9 {
		t.Errorf("the context's epoch goes before an older header: %v, seen %d", err, g.Seen())
	}
}

// closable counts what http.Client passes on.
type closable struct {
	http.RoundTripper
	closed int
}

func (c *closable) CloseIdleConnections() { c.closed++ }

func TestIdleConnectionsCanBeClosed(t *testing.T) {
	base := &closable{}
	(&http.Client{Transport: Transport{Base: base}}).CloseIdleConnections()
	if base.closed != 1 {
		t.Error("the connections stay open")
	}
}

func TestCheckResponseKnowsWhose412ItIs(t *testing.T) {
	with := func(status int, seen string) error {
		r := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}
		if seen != "" {
			r.Header.Set(Header, seen)
		}
		return CheckResponse(r)
	}
	if err := with(http.StatusPreconditionFailed, ""); err != nil {
		t.Error("an If-Match that failed:", err)
	}
	if err := with(http.StatusPreconditionFailed, "9007199254740992"); err != nil {
		t.Error("2⁵³ is nobody's epoch:", err)
	}
	if err := with(http.StatusOK, "7"); err != nil {
		t.Error(err)
	}
	if err := with(http.StatusPreconditionFailed, "7"); !errors.Is(err, ErrStale) {
		t.Error(err)
	}
}
