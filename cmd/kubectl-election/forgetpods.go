package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// place is where the pod of a voter is that is to be forgotten.
type place struct {
	text string // for people
	runs bool   // as far as Kubernetes shows, the pod runs there
}

// findPods looks up where the pods of the plan's voters are. A pod whose node cannot be read counts
// as one that runs. One that came back with another state directory does not: the voter may run on
// the machine that the node had before, and deleting the pod proves nothing about that.
func (p *forgetPlan) findPods(ctx context.Context, o operation) error {
	pods := &corev1.PodList{}
	err := o.kube.list(ctx, podsResource, o.key.Namespace,
		metav1.ListOptions{LabelSelector: v1.GroupLabel + "=" + p.group}, pods)
	if err != nil {
		return fmt.Errorf("whether the pods of these voters run is not known: %w", err)
	}
	p.places = map[types.UID]place{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		j := slices.IndexFunc(p.forgotten, func(m v1.RosterMember) bool { return m.UID == pod.UID })
		if j < 0 || isReplaced(p.forgotten[j]) {
			continue
		}
		p.places[pod.UID] = placeOf(ctx, o.kube, pod)
	}
	return nil
}

func placeOf(ctx context.Context, kube apiClient, pod *corev1.Pod) place {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		pod.Spec.NodeName == "" {
		return place{text: "exists"}
	}
	on := "on " + display.Printable(pod.Spec.NodeName, 253)
	node := &corev1.Node{}
	if err := kube.get(ctx, nodesResource, types.NamespacedName{Name: pod.Spec.NodeName},
		node); err != nil {
		return place{on + ", which could not be read", true}
	}
	if slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) {
		return place{on + ", which is Ready", true}
	}
	return place{text: on + ", which is not Ready"}
}

// mayRun returns why the plan is refused, with the safe way first; nil if no pod of it runs.
func (p *forgetPlan) mayRun(namespace string) error {
	var runs, names []string
	for _, m := range p.forgotten {
		if at := p.places[m.UID]; at.runs {
			name := display.Printable(m.Name, 253)
			names, runs = append(names, name), append(runs, name+" ("+at.text+")")
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return refusal("these pods run, as far as Kubernetes shows, so nothing was changed: %s. Delete "+
		"them: the kubelet ends them and says so, and the group goes on by itself: kubectl delete pod "+
		"%s -n %s. Only if that does not help, and you know that they have ended, add "+
		"--although-they-run", strings.Join(runs, ", "), strings.Join(names, " "), namespace)
}
