package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eventsIn waits until these events, "reason: note", have been recorded.
func eventsIn(t *testing.T, namespace string, want ...string) {
	t.Helper()
	eventsUntil(t, namespace, fmt.Sprintf("%q", want), func(seen []string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(seen, w) })
	})
}

// eventBegins waits for an event that begins so: what follows depends on who had reported by then.
func eventBegins(t *testing.T, namespace, want string) {
	t.Helper()
	eventsUntil(t, namespace, want+"…", func(seen []string) bool {
		return slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, want) })
	})
}

// eventsUntil waits until ok holds for the events that have been recorded.
func eventsUntil(t *testing.T, namespace, want string, ok func(seen []string) bool) {
	t.Helper()
	watch, err := server.Core.EventsV1().Events(namespace).Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	defer watch.Stop()
	var seen []string
	deadline := time.After(patience)
	for !ok(seen) {
		select {
		case e := <-watch.ResultChan():
			if event, ok := e.Object.(*eventsv1.Event); ok {
				seen = append(seen, event.Reason+": "+event.Note)
			}
		case <-deadline:
			t.Fatalf("events %q, want %s", seen, want)
		}
	}
}
