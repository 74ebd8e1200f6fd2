package group

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

func TestAgentsAreJudged(t *testing.T) {
	without := func(s *scene) *scene { s.pods[0].Spec.InitContainers = nil; return s }
	running := func(version string) *scene {
		s := newScene(2).sees("p-1", 0, 1)
		s.edit(0, func(r *roster.Report) { r.Version = version })
		s.edit(1, func(r *roster.Report) { r.Version = "v2" })
		return s
	}
	for _, test := range []struct {
		name    string
		scene   *scene
		manager string
		want    string
	}{
		{"not joined yet", newScene(2), "v2", " "},
		{"no agent", without(newScene(2)), "v2", "Missing "},
		{"an agent that is no sidecar", func() *scene {
			s := without(newScene(2))
			s.pods[0].Spec.Containers = []corev1.Container{{Name: v1.AgentContainer}}
			return s
		}(), "v2", " "},
		{"an agent by another name, for it has reported", without(running("v2")), "v2", " "},
		{"no agent, on its way out", without(newScene(2)).depart(0), "v2", " "},
		{"no agent, and ended", func() *scene { s := without(newScene(2)); s.pods[0].Status.Phase = corev1.PodSucceeded; return s }(), "v2", " "},
		{"older", running("v1"), "v2", "Outdated/v1 "},
		{"newer", running("v3"), "v2", "Outdated/v3 "},
		{"the same", running("v2"), "v2", " "},
		{"out of sight: what it said last", running("v1").loses(0, time.Hour), "v2", "Outdated/v1 "},
		{"it does not say", running(""), "v2", " "},
		{"the manager does not know its own", running("v1"), "", " "},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.scene.version = test.manager
			v := decideStatus(test.scene.observation, rosterDecision{})
			var got []string
			for _, row := range v.status.Processes {
				got = append(got,
					strings.TrimSuffix(fmt.Sprintf("%s/%s", row.Agent, row.AgentVersion), "/"))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestANewManagerKeepsWhatWasKnownOfAgents(t *testing.T) {
	s := newScene(2).sees("p-1", 0, 1)
	s.version = "v2"
	s.edit(0, func(r *roster.Report) { r.Version = "v1" })
	s.published()
	delete(s.sightings, "uid-0")
	s.begun = noon
	if row := decideStatus(s.observation, rosterDecision{}).status.Processes[0]; row.Agent != v1.AgentOutdated ||
		row.AgentVersion != "v1" {
		t.Errorf("row %+v", row)
	}
}

func TestWorkload(t *testing.T) {
	owned := func(kind, name, hash string) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web-7b9c-x2z4k", Labels: map[string]string{}},
		}
		if hash != "" {
			pod.Labels["pod-template-hash"] = hash
		}
		if kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{
				{Kind: kind, Name: name, Controller: new(true)},
			}
		}
		return pod
	}
	for _, test := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{owned("", "", ""), "pod/web-7b9c-x2z4k"},
		{owned("StatefulSet", "web", ""), "statefulset/web"},
		{owned("ReplicaSet", "web-7b9c", "7b9c"), "deployment/web"},
		{owned("ReplicaSet", "web-", ""), "replicaset/web-"},
		{owned("ReplicaSet", "alone", "7b9c"), "replicaset/alone"},
		{owned("Job", "count", ""), "job/count"},
	} {
		if got := workloadOf(test.pod); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestAgentEvents(t *testing.T) {
	with := func(states ...v1.AgentState) (s v1.ElectionGroupStatus) {
		for _, state := range states {
			s.Processes = append(s.Processes, v1.ProcessStatus{Agent: state})
		}
		return s
	}
	none, one, two := with("", v1.AgentOutdated), with("",
		v1.AgentMissing), with(v1.AgentMissing, v1.AgentMissing)
	for _, test := range []struct {
		name    string
		was, is v1.ElectionGroupStatus
		want    string
	}{
		{"outdated ones make no event", with("", ""), none, ""},
		{"the first without", none, two, "AgentMissing restart them"},
		{"one more", one, two, ""},
		{"one less", two, one, ""},
		{"none any more", one, none, ""},
	} {
		if got := tell(agentEvents(test.was, test.is, "restart them")); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestNotesFitIntoEvents(t *testing.T) {
	if note := strings.Repeat("a", longestNote); shorten(note) != note {
		t.Error("a note that fits is cut")
	}
	for i := range 3 {
		got := shorten(strings.Repeat("a", i) + strings.Repeat("é", longestNote))
		if len(got) > longestNote || len(got) < longestNote-3 || !utf8.ValidString(got) ||
			!strings.HasSuffix(got, "é…") {
			t.Errorf("cut to %d bytes: …%q", len(got), got[len(got)-9:])
		}
	}
}

// What is said of a lost majority is an event in full, also where names are long.
func TestLostMajorityFitsIntoAnEvent(t *testing.T) {
	f := findings{group: newGuarded(0).group, choice: choice{voters: 100}}
	for i := range 20 {
		f.step.lost = append(f.step.lost, fmt.Sprintf("%s-%d", strings.Repeat("a", 58), i))
	}
	f.step.silent = f.step.lost[:10]
	if got := stalledCondition(f).Message; len(got) > longestNote ||
		!strings.HasSuffix(got, "certainly ended") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
