package manager

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

// A manager that waits for the Lease watches what it will read, so it begins no watch when it
// leads.
func TestAWaitingManagerWatchesAhead(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	began := &watches{of: map[string]int{}}
	server.StartManager(t, envtest.ManagerOptions{Namespace: system, Wrap: began.watch})
	kinds := []string{"configmaps", "electiongroups", "pods", "services"}
	eventually(t, "a watch of each kind", func() bool { return slices.Equal(began.kinds(), kinds) })
	m.Stop()
	must(t, kube.Delete(bg, p[0].Pod, client.GracePeriodSeconds(0)))
	sees(t, namespace, "two processes, as the next manager shows", func(g *v1.ElectionGroup) bool {
		return len(g.Status.Roster.Members) == 2
	})
	for _, kind := range kinds {
		if n := began.count(kind); n != 1 {
			t.Errorf("the next manager has begun %d watches of %s, want the one that it had", n, kind)
		}
	}
}

// watches counts the watches that a manager begins, by kind.
type watches struct {
	mu sync.Mutex
	of map[string]int
}

func (w *watches) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Has("watch") {
			w.mu.Lock()
			w.of[path.Base(r.URL.Path)]++
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (w *watches) kinds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.of))
}

func (w *watches) count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[kind]
}
