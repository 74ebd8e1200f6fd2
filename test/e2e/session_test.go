package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/manifest"
)

// Replicas of an operator open their sessions late. The spec is empty; the pods have the annotation.
// No process coordinates before its app has opened a session, and none whose app has none any more.
func TestSessionsThatOpenLate(t *testing.T) {
	g := newGroup(t, "sessions")
	eg := &v1.ElectionGroup{}
	eg.Namespace, eg.Name = g.Namespace, g.Group
	g.must(g.Create(t.Context(), eg))
	template, err := manifest.Pod(filepath.Join(root, "config/samples/pods.yaml"))
	g.must(err)
	template.Annotations = map[string]string{v1.SessionAnnotation: v1.SessionRequired}
	g.must(g.createPods(t.Context(), template, 0, 2))
	g.running(3)
	said := g.chronicle()
	g.await("all processes to be without a session", func(eg *v1.ElectionGroup) bool {
		return len(votersOf(eg)) == 3 && len(eg.Status.Processes) == 3 &&
			!slices.ContainsFunc(eg.Status.Processes, func(p v1.ProcessStatus) bool {
				return p.NotCandidate != v1.NotCandidateNoSession
			})
	})
	ctx, die := context.WithCancel(t.Context())
	first := g.ask(ctx, g.podName(0), "/v1/session")
	g.agree(g.podName(0))
	g.shows(g.podName(0))
	second := g.ask(t.Context(), g.podName(1), "/v1/session")
	defer second.Body.Close()
	die()
	_ = first.Body.Close()
	g.agree(g.podName(1))
	g.shows(g.podName(1))
	if got, want := said.coordinators(), []string{g.podName(0), g.podName(1)}; !slices.Equal(got, want) {
		t.Errorf("the coordinators were %v, want %v", got, want)
	}
}
