package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/chaos/backend"
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

func rotate(pods []*corev1.Pod, by int) []*corev1.Pod {
	n := by % len(pods)
	return slices.Concat(pods[n:], pods[:n])
}
