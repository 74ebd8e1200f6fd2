package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
)

// dropsOf returns the directions that a cut takes away. The victim is hit; the others are the
// group's other pods, in their order. The node of the smaller side drops, so that a pod is cut off
// at once.
func dropsOf(
	name string, victim *corev1.Pod, others []*corev1.Pod, which int,
) (drops []backend.Drop) {
	oneWay := func(at, from, to *corev1.Pod) {
		drops = append(drops, backend.Drop{
			From: from,
			To:   to,
			At:   at.Spec.NodeName,
		})
	}
	both := func(a, b *corev1.Pod) { oneWay(a, a, b); oneWay(a, b, a) }
	switch name {
	case cutOff:
		for _, p := range others {
			both(victim, p)
		}
	case cutDeaf:
		for _, p := range others {
			oneWay(victim, p, victim)
		}
	case cutMute:
		for _, p := range others {
			oneWay(victim, victim, p)
		}
	case cutLink:
		both(victim, others[which%len(others)])
	case cutHalves, cutBridge:
		order := rotate(others, which)
		if name == cutBridge { // it is on neither side, and sees both
			order = order[1:]
		}
		minority := (len(others) + 1) / 2 // with the victim, of an odd number of pods
		here := append([]*corev1.Pod{victim}, order[:minority-1]...)
		for _, a := range here {
			for _, b := range order[minority-1:] {
				both(a, b)
			}
		}
	}
	return drops
}

// cut cuts directions, and counts that, and what was dropped.
func (r *runner) cut(
	ctx context.Context, drops []backend.Drop, length time.Duration,
) (register.Instant, error) {
	if drops = withAddresses(drops); len(drops) == 0 {
		return register.Now(), fmt.Errorf("no pod has an address: %w", backend.ErrMissed)
	}
	at, dropped, err := r.full.Cut(ctx, drops, length)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cuts, r.dropped = r.cuts+1, r.dropped+dropped
	}
	return at, err
}

// withAddresses returns those directions that can be taken away. A pod that another fault has ended
// may have no address yet: it hears nobody, and is not cut off when it does.
func withAddresses(drops []backend.Drop) []backend.Drop {
	return slices.DeleteFunc(drops, func(d backend.Drop) bool {
		return d.From.Status.PodIP == "" || d.To.Status.PodIP == ""
	})
}

// idleCuts says that the cuts of a phase have dropped nothing in all: packets pass by where the
// nodes look. It begins the count anew.
func (r *runner) idleCuts() (problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cuts > 0 && r.dropped == 0 {
		problem = fmt.Sprintf("%d cuts have dropped no packet: nothing was cut", r.cuts)
	}
	r.cuts, r.dropped = 0, 0
	return problem
}

func rotate(pods []*corev1.Pod, by int) []*corev1.Pod {
	n := by % len(pods)
	return slices.Concat(pods[n:], pods[:n])
}
