package e2e

import (
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Two processes have founded the group when the highest one starts. It coordinates long before it
// has been there for stableSeconds.
func TestForming(t *testing.T) {
	g := newGroup(t, "forming")
	eg := &v1.ElectionGroup{Spec: v1.ElectionGroupSpec{
		Priority:   v1.PriorityPolicy{From: v1.Ordinal},
		Preemption: &v1.Preemption{Policy: v1.Delayed, StableSeconds: new(int32(300))},
	}}
	eg.Namespace, eg.Name = g.Namespace, g.Group
	g.must(g.Create(t.Context(), eg))
	g.add(0, 1)
	g.running(2)
	g.agree("scheduler-1")
	g.add(2, 2)
	g.running(3)
	g.agree("scheduler-2")
	g.shows("scheduler-2")
}
