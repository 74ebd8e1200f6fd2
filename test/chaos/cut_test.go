package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podesta-dev/podesta/test/chaos/backend"
)

// Which directions each cut takes away from v, beside a, b, c and d.
func TestDropsOf(t *testing.T) {
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	others := []*corev1.Pod{pod("a"), pod("b"), pod("c"), pod("d")}
	for name, want := range map[string]string{
		cutOff:    "av bv cv dv va vb vc vd",
		cutDeaf:   "av bv cv dv",
		cutMute:   "va vb vc vd",
		cutLink:   "bv vb",
		cutHalves: "ab av ba bc bd cb cv db dv va vc vd", // v and b on one side
		cutBridge: "ac av ca cd dc dv va vd",             // v and c; b sees all
	} {
		var got []string
		for _, d := range dropsOf(name, pod("v"), others, 1) {
			got = append(got, d.From.Name+d.To.Name)
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
}

// However it is cut in two, one side has a majority of the group, and with a bridge one process
// sees both sides.
func TestOneSideHasAMajority(t *testing.T) {
	for _, size := range []int{3, 5, 7} {
		for which := range size {
			var others []*corev1.Pod
			for i := range size - 1 {
				others = append(others, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
			}
			victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
			lost := map[string]int{}
			for _, d := range dropsOf(cutHalves, victim, others, which) {
				lost[d.From.Name]++
			}
			majority := 0
			for _, n := range lost {
				if size-n > size/2 {
					majority++
				}
			}
			if majority != size/2+1 {
				t.Errorf("of %d processes %d see a majority, with %v", size, majority, lost)
			}
			if size == 3 {
				continue // nobody is left to be cut from
			}
			lost = map[string]int{}
			for _, d := range dropsOf(cutBridge, victim, others, which) {
				lost[d.From.Name]++
			}
			if len(lost) != size-1 {
				t.Errorf("of %d processes %d lose somebody; all but the bridge should", size, len(lost))
			}
		}
	}
}

// An edit for some reaches a minority of the pods: from the managers to all others nothing passes,
// and the managers' nodes drop it.
func TestDropsToMost(t *testing.T) {
	managers := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: corev1.PodSpec{NodeName: "here"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.PodSpec{NodeName: "there"}}}
	for size, reached := range map[int]int{3: 1, 4: 1, 5: 2, 7: 3} {
		var pods []*corev1.Pod
		for i := range size {
			pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
		}
		for which := range 2 * size {
			cut := map[string]int{}
			for _, d := range dropsToMost(managers, pods, which) {
				cut[d.To.Name]++
				if at := map[string]string{"m": "here", "n": "there"}[d.From.Name]; d.At != at {
					t.Errorf("what %s sends is dropped at %q", d.From.Name, d.At)
				}
			}
			if len(cut) != size-reached {
				t.Errorf("of %d pods %d are not reached, want %d", size, len(cut), size-reached)
			}
			for pod, n := range cut {
				if n != len(managers) {
					t.Errorf("pod %s of %d does not hear %d of the managers", pod, size, n)
				}
			}
		}
	}
}

// A pod that has just been made has no address, and no rule can name it.
func TestWithAddresses(t *testing.T) {
	pod := func(address string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{PodIP: address}}
	}
	from, to, young := pod("10.0.0.1"), pod("10.0.0.2"), pod("")
	got := withAddresses([]backend.Drop{{From: from, To: young}, {From: from, To: to}, {From: young, To: to}})
	if len(got) != 1 || got[0].From != from || got[0].To != to {
		t.Errorf("%v, want the one between pods that have addresses", got)
	}
	r := &runner{}
	_, err := r.cut(t.Context(), []backend.Drop{{From: from, To: young}}, time.Hour)
	if !errors.Is(err, backend.ErrMissed) {
		t.Errorf("%v: a cut of nothing hits nothing", err)
	}
}

// A strike that hit nothing is no failure, and says so.
func TestStrikeIsOver(t *testing.T) {
	failed := errors.New("docker does not answer")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	for name, c := range map[string]struct {
		err    error
		missed bool
		want   error
	}{
		"it hit":                    {nil, false, nil},
		"what it was for had ended": {fmt.Errorf("pod p: %w", backend.ErrMissed), true, nil},
		"another fault had the pod": {missedIfGone(gone), true, nil},
		"it could not be made":      {missedIfGone(failed), false, failed},
	} {
		s := &strike{}
		got := s.over(c.err)
		if !errors.Is(got, c.want) || (got == nil) != (c.want == nil) || s.missed != c.missed || s.until == 0 {
			t.Errorf("%s: %v, missed %v", name, got, s.missed)
		}
	}
}

// Cuts that drop nothing are no cuts, which is said once for a phase; one that drops is enough, because
// a peer may be dead in another.
func TestIdleCuts(t *testing.T) {
	r := &runner{cuts: 3}
	if problem := r.idleCuts(); problem != "3 cuts have dropped no packet: nothing was cut" {
		t.Errorf("%q", problem)
	}
	if problem := r.idleCuts(); problem != "" {
		t.Errorf("no cuts: %q", problem)
	}
	r.cuts, r.dropped = 3, 1
	if problem := r.idleCuts(); problem != "" {
		t.Errorf("one packet: %q", problem)
	}
}
