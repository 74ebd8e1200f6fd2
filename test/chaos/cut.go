package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// drop is a direction that is cut: what the one pod sends does not reach the other.
type drop struct {
	from, to *corev1.Pod
	at       string // the node that drops it: where the smaller side is, so that a pod is cut off in one go
}

// dropsOf are the directions that a cut takes away. The victim is hit; the others are the group's other pods, in their order.
func dropsOf(name string, victim *corev1.Pod, others []*corev1.Pod, which int) (drops []drop) {
	oneWay := func(at, from, to *corev1.Pod) { drops = append(drops, drop{from: from, to: to, at: at.Spec.NodeName}) }
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

// cut takes directions away for a while: a table of rules a cut, so that cuts do not mend each other. It calls struck with the instant
// from which on all nodes drop.
func cut(ctx context.Context, table string, drops []drop, length time.Duration, struck func(register.Instant)) error {
	rules := map[string][]string{} // by node
	for _, d := range drops {
		rules[d.at] = append(rules[d.at], fmt.Sprintf("add rule inet %s pre ip saddr %s ip daddr %s drop", table, d.from.Status.PodIP, d.to.Status.PodIP))
	}
	var all []*severed
	for _, node := range slices.Sorted(maps.Keys(rules)) {
		all = append(all, &severed{node: node})
	}
	err := each(all, func(s *severed) (err error) {
		s.Signal, err = inNode(ctx, s.node, "cut", "--for="+length.String(), "--table="+table, strings.Join(rules[s.node], "; "))
		return err
	})
	last := all[0].At
	for _, s := range all {
		last = max(last, s.At)
	}
	struck(last)
	return err
}

// severed is a node's part of a cut, and when it was.
type severed struct {
	node string
	history.Signal
}
