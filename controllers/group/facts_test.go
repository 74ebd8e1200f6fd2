package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
