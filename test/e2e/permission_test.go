package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// permission is what an agent says of its own process: whether it may act, and until when.
type permission struct {
	MayAct                      bool
	Epoch                       int64
	DeadlineBoottimeNanoseconds register.Instant
}

// left is how long it may act, from an instant on.
func (p permission) left(from time.Time) time.Duration {
	return p.DeadlineBoottimeNanoseconds.Sub(register.Now()) + time.Since(from)
}

// mayAct asks a pod's agent as its app would.
func (g *group) mayAct(pod string) bool {
	g.t.Helper()
	return g.permission(pod).MayAct
}

func (g *group) permission(pod string) permission {
	g.t.Helper()
	response := g.ask(g.t.Context(), pod, "/v1/permission")
	defer response.Body.Close()
	said, err := readPermission(response)
	if err != nil {
		g.t.Fatalf("%s: %v", pod, err)
	}
	return said
}

// readPermission reads an answer of /v1/permission. One that is neither yes nor no is an error: it
// is not a no.
func readPermission(response *http.Response) (said permission, err error) {
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return said, fmt.Errorf("/v1/permission: %s: %w", response.Status, err)
	}
	want := http.StatusServiceUnavailable
	if said.MayAct {
		want = http.StatusOK
	}
	if response.StatusCode != want {
		return said, fmt.Errorf("/v1/permission: %s, and it says %+v", response.Status, said)
	}
	return said, nil
}

func (g *group) ask(ctx context.Context, pod, path string) *http.Response {
	g.t.Helper()
	pods, err := g.Pods(ctx)
	g.must(err)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pods[pod].Status.PodIP+":4040"+path, nil)
	g.must(err)
	if path == "/v1/session" {
		request.Header.Set("Podesta-Session", "open")
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	g.must(err)
	return response
}
