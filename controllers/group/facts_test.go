package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

func TestForgetIsBoundToARoster(t *testing.T) {
	s := voting(3)
	s.loses(1, time.Hour).loses(2, time.Hour)
	s.pods = s.pods[:1]
	d := s.pass() // takes down since when they are gone
	if got := strings.Join(d.lost, " "); got != "p-1 p-2" {
		t.Fatalf("lost %q", got)
	}
	ask := func(generation int64, processes ...string) {
		var all []string
		for _, name := range processes {
			all = append(all, fmt.Sprintf(`{"name":%q,"uid":"uid-%s"}`, name, name[2:]))
		}
		s.group.Annotations = map[string]string{
			v1.ForgetAnnotation: fmt.Sprintf(`{"generation":%d,"processes":[%s]}`, generation,
				strings.Join(all, ",")),
		}
	}
	generation := s.observation.published.Roster.Generation
	for name, ask := range map[string]func(){
		"another roster":   func() { ask(generation-1, "p-1", "p-2") },
		"another pod":      func() { ask(generation, "p-9") },
		"one that is well": func() { ask(generation, "p-0") },
		"nonsense":         func() { s.group.Annotations = map[string]string{v1.ForgetAnnotation: "yes"} },
	} {
		if ask(); s.pass().record != nil {
			t.Errorf("%s was heeded: %+v", name, s.observation.published.Roster)
		}
	}
	ask(generation, "p-1", "p-2")
	if s.pass(); s.observation.published.Roster.Generation <= generation ||
		s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("it was not recorded as a roster of its own: %+v", s.observation.published.Roster)
	}
	s.pass()
	s.later(lease.Outlast(milliseconds(1000)))
	if s.pass(); s.voters() != "p-0" {
		t.Errorf("a lease later: voters %q", s.voters())
	}
}

// MC5: the deletion of a pod began its grace period before its deletionTimestamp. What an agent
// says between the two is its last word.
func TestWhenTheDeletionOfAPodBegan(t *testing.T) {
	s := voting(3)
	pod := s.pods[2]
	if p := podFact(pod, &s.group.Spec); !p.DeletionBegan.IsZero() || !p.DeletionDue.IsZero() {
		t.Errorf("it is not being deleted: %+v", p)
	}
	due := metav1.NewTime(s.now.Add(30 * time.Second))
	pod.DeletionTimestamp = &due
	for grace, began := range map[int64]time.Time{0: due.Time, 30: s.now} {
		pod.DeletionGracePeriodSeconds = &grace
		p := podFact(pod, &s.group.Spec)
		if !p.DeletionBegan.Equal(began) || !p.DeletionDue.Equal(due.Time) {
			t.Errorf("grace %d s: began at %v, due at %v", grace, p.DeletionBegan, p.DeletionDue)
		}
	}
}
