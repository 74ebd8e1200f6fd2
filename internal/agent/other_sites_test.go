package agent_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/agent"
)

// A web page of another site may use a name that resolves to this machine (DNS rebinding), or the
// agent's address. The agent refuses both.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	const usual = "127.0.0.1:4040"
	for _, c := range []struct {
		address, host, site string
		taken               bool
	}{
		{usual, "127.0.0.1:4040", "", true},
		{usual, "127.0.0.1", "", true},
		{usual, "127.0.0.7:8001", "", true}, // a forwarded port
		{usual, "localhost:4040", "", true},
		{usual, "LocalHost", "", true},
		{usual, "[::1]:4040", "", true},
		{usual, "[::1]", "", true},
		{"0.0.0.0:4040", "10.1.2.3:4040", "", true},
		{"agent.local:4040", "agent.local:4040", "", true},
		{"agent.local:4040", "Agent.local", "", true},
		{usual, "agent.local:4040", "", false},
		{usual, "evil.example:4040", "", false},
		{usual, "evil.example", "same-origin", false},
		{usual, "127.0.0.1.evil.example:4040", "", false},
		{usual, "localhost.evil.example", "", false},
		{":4040", "evil.example:4040", "", false},
		{":4040", "", "", false},
		{usual, "127.0.0.1:4040", "none", true}, // a person has typed the address
		{usual, "127.0.0.1:4040", "same-origin", true},
		{usual, "127.0.0.1:4040", "same-site", false}, // another port of this machine
		{usual, "127.0.0.1:4040", "cross-site", false},
	} {
		reached := false
		api := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/suspect", nil)
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		agent.RefuseOtherSites(api, c.address).ServeHTTP(w, r)
		if reached != c.taken {
			t.Errorf("at %s, host %q, a page of %q: taken is %t", c.address, c.host, c.site, reached)
		}
		told := w.Body.String()
		if !c.taken && (w.Code != http.StatusForbidden || !strings.Contains(told, "127.0.0.1")) {
			t.Errorf("at %s, host %q, a page of %q: %d %s", c.address, c.host, c.site, w.Code, told)
		}
	}
}
