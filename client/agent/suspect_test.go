package agent

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Suspect posts the coordinator's name, and an answer other than 202 is an error that says why.
func TestSuspect(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusAccepted:        "",
		http.StatusConflict:        "409",
		http.StatusTooManyRequests: "429",
		http.StatusNotFound:        "404",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := r.Header.Get("Podesta-Suspect")
			if r.Method != http.MethodPost || r.URL.Path != "/v1/suspect" || name != "a-2" {
				t.Errorf("%s %s about %q", r.Method, r.URL.Path, name)
			}
			answers(status, "why")(w, r)
		}))
		c := Client{URL: server.URL, HTTP: server.Client()}
		err := c.Suspect(t.Context(), "a-2")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "why")) {
			t.Errorf("%d: %v", status, err)
		}
		server.Close()
	}
}

// An agent that is not there cannot be told.
func TestSuspectWithoutAgent(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c := Client{URL: server.URL}
	if err := c.Suspect(t.Context(), "a-2"); err == nil {
		t.Error("the report was taken by nobody")
	}
}
