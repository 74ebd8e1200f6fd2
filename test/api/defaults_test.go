package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

func TestDefaults(t *testing.T) {
	namespace := newNamespace(t)
	all := podestav1.ElectionGroupSpec{
		Algorithm: podestav1.Bully,
		Priority:  podestav1.PriorityPolicy{Default: ptr.To[int32](1)},
		Safety:    podestav1.Guarded,
		Timing:    podestav1.Timing{Profile: podestav1.Balanced},
	}
	tests := []struct {
		name string
		spec podestav1.ElectionGroupSpec
		want func(*podestav1.ElectionGroupSpec)
	}{{
		name: "an empty spec is a working group",
		want: func(*podestav1.ElectionGroupSpec) {},
	}, {
		name: "an algorithm leaves the rest to the defaults",
		spec: podestav1.ElectionGroupSpec{Algorithm: podestav1.ChangRoberts},
		want: func(s *podestav1.ElectionGroupSpec) { s.Algorithm = podestav1.ChangRoberts },
	}, {
		name: "single fields of the timing have no defaults beside a profile",
		spec: podestav1.ElectionGroupSpec{Timing: podestav1.Timing{TimeoutMilliseconds: 2000}},
		want: func(s *podestav1.ElectionGroupSpec) { s.Timing.TimeoutMilliseconds = 2000 },
	}, {
		name: "priority 0 is not taken for no priority",
		spec: podestav1.ElectionGroupSpec{Priority: podestav1.PriorityPolicy{Default: ptr.To[int32](0)}},
		want: func(s *podestav1.ElectionGroupSpec) { s.Priority.Default = ptr.To[int32](0) },
	}, {
		name: "ordinals keep a default for pods without one",
		spec: podestav1.ElectionGroupSpec{Priority: podestav1.PriorityPolicy{From: podestav1.Ordinal}},
		want: func(s *podestav1.ElectionGroupSpec) { s.Priority.From = podestav1.Ordinal },
	}, {
		name: "a Classic group has all defaults but this one",
		spec: podestav1.ElectionGroupSpec{Safety: podestav1.Classic},
		want: func(s *podestav1.ElectionGroupSpec) { s.Safety = podestav1.Classic },
	}, {
		name: "preemption has defaults where it is given",
		spec: podestav1.ElectionGroupSpec{Preemption: &podestav1.Preemption{}},
		want: func(s *podestav1.ElectionGroupSpec) {
			s.Preemption = &podestav1.Preemption{Policy: podestav1.Delayed}
		},
	}, {
		name: "a policy that has no delay gets none",
		spec: podestav1.ElectionGroupSpec{Preemption: &podestav1.Preemption{Policy: podestav1.Never}},
		want: func(s *podestav1.ElectionGroupSpec) {
			s.Preemption = &podestav1.Preemption{Policy: podestav1.Never}
		},
	}, {
		name: "a higher process that need not be stable at all is not taken for one that need not be",
		spec: podestav1.ElectionGroupSpec{Preemption: &podestav1.Preemption{StableSeconds: ptr.To[int32](0)}},
		want: func(s *podestav1.ElectionGroupSpec) {
			s.Preemption = &podestav1.Preemption{Policy: podestav1.Delayed, StableSeconds: ptr.To[int32](0)}
		},
	}, {
		name: "a port of the Service is TCP, and leads to the same port",
		spec: podestav1.ElectionGroupSpec{Service: &podestav1.CoordinatorService{Ports: []podestav1.CoordinatorPort{{Port: 80}}}},
		want: func(s *podestav1.ElectionGroupSpec) {
			s.Service = &podestav1.CoordinatorService{Ports: []podestav1.CoordinatorPort{{Port: 80, Protocol: podestav1.TCP}}}
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			group := newGroup(namespace)
			group.Spec = test.spec
			if err := kube.Create(t.Context(), group, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			want := all.DeepCopy()
			test.want(want)
			if diff := cmp.Diff(*want, group.Spec); diff != "" {
				t.Errorf("spec as the server has it (-want +got):\n%s", diff)
			}
		})
	}
}
