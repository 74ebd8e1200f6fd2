package manager

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

// written is a log that is read while it is written.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(line)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// refusedEvents signals when the API server has refused an event.
func refusedEvents(refused chan<- struct{}) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusForbidden && strings.HasSuffix(r.URL.Path, "/events") {
				select {
				case refused <- struct{}{}:
				default:
				}
			}
			return response, err
		})
	}
}

// When a namespace ends, its pods may go before its group, and the API server takes no more events
// there. That is no error of the manager's.
func TestANamespaceThatEndsIsNoError(t *testing.T) {
	log, refused := &written{}, make(chan struct{}, 1)
	m := server.StartManager(t, envtest.ManagerOptions{
		Namespace: system,
		Wrap:      refusedEvents(refused),
		Log:       slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}),
	})
	namespace := newNamespace(t)
	newGroup(t, namespace)
	p := join(t, &manager{Manager: m}, newPod(t, namespace, 0), nil)
	elect("scheduler-0/1/1", p, []*process{p})
	sees(t, namespace, "scheduler-0 as the coordinator", coordinatedBy("scheduler-0", metav1.ConditionTrue))
	// here no controller of namespaces runs: the test deletes what that one would
	must(t, kube.Delete(bg, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(0)))
	select {
	case <-refused:
	case <-time.After(patience):
		t.Fatalf("no event was refused\n%s", log)
	}
	sees(t, namespace, "no process", func(g *v1.ElectionGroup) bool { return len(g.Status.Processes) == 0 })
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, namespace) {
			t.Errorf("it logged %s", line)
		}
	}
}
