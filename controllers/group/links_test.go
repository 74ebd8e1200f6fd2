package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// unlinked has a process report why it has no link to another one.
func (s *scene) unlinked(pod int, to, why string) *scene {
	seen := s.sightings[s.pods[pod].UID]
	seen.Report.Table = append(seen.Report.Table, roster.Row{Name: to, State: roster.Normal, Unlinked: why})
	s.sightings[s.pods[pod].UID] = seen
	return s
}

// Processes that run and have no link are named, with the cause; those that do not run are named
// for that already.
func TestProcessesWithoutLinks(t *testing.T) {
	const why = "its certificate is not of a CA that this process trusts"
	for what, c := range map[string]struct {
		scene *scene
		says  string // empty: it is not degraded for that
	}{
		"all links": {newScene(3).sees("p-2", 0, 1, 2), ""},
		"one is missing": {
			newScene(3).sees("p-2", 0, 1, 2).unlinked(0, "p-1", why),
			"p-0 has no link to p-1: " + why,
		},
		"nobody reaches one": {
			newScene(3).sees("p-2", 0, 1, 2).unlinked(0, "p-1", why).unlinked(2, "p-1", why),
			"p-0, p-2 have no link to p-1: " + why,
		},
		"for two causes": {
			newScene(3).sees("p-2", 0, 1, 2).unlinked(0, "p-1", why).unlinked(2, "p-1", "no answer"),
			"p-0 has no link to p-1: " + why + "; p-2 has no link to p-1: no answer",
		},
		"many": {
			newScene(5).sees("p-2", 0, 1, 2, 3, 4).unlinked(0, "p-1", why).unlinked(0, "p-2", why).
				unlinked(0, "p-3", why).unlinked(0, "p-4", why),
			"p-0 has no link to p-3: " + why + "; and 1 more",
		},
		"one does not report": {newScene(3).sees("p-2", 0, 2).unlinked(0, "p-1", why), ""},
		"it is on no roster":  {newScene(3).sees("p-2", 0, 1, 2).unlinked(0, "stranger", why), ""},
	} {
		d := decideStatus(c.scene.observation, decideRoster(c.scene.observation))
		degraded := meta.FindStatusCondition(d.status.Conditions, v1.ConditionDegraded)
		is := degraded.Reason == reasonNotLinked
		if is != (c.says != "") || is && !strings.Contains(degraded.Message, c.says) {
			t.Errorf("%s: condition Degraded is %s: %s\nwant %q", what, degraded.Reason, degraded.Message, c.says)
		}
	}
}
