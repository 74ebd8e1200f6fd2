package group

import (
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// While a group forms its agents are told that preemption does not wait, unless it never preempts.
func TestForming(t *testing.T) {
	for policy, want := range map[v1.PreemptionPolicy]string{
		"":         roster.Always,
		v1.Delayed: roster.Always,
		v1.Always:  roster.Always,
		v1.Never:   roster.Never,
	} {
		s := newGuarded(3)
		s.group.Spec.Preemption = &v1.Preemption{Policy: policy}
		s.sees("", 0).pass()
		s.later(membership.FoundWithin)
		s.pass()
		if got := s.pass().roster.Preemption; got != want {
			t.Errorf("%q: %q, want %q", policy, got, want)
		}
		s.later(membership.FormsWithin)
		want = string(policy)
		if policy == "" {
			want = roster.Delayed
		}
		if got := s.pass().roster.Preemption; got != want {
			t.Errorf("%q, and it has formed: %q, want %q", policy, got, want)
		}
	}
}
