package group

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Reasons of condition Degraded. WitnessRefused is also that of an event; WitnessWanted is not,
// because a group that grows to three passes through two.
const (
	reasonWitnessWanted  = "WitnessWanted"
	reasonWitnessRefused = "WitnessRefused"
)

func hasWitnessLabel(pod *corev1.Pod) bool { return pod.Labels[v1.WitnessLabel] == v1.WitnessTrue }

// isWitness reports whether a pod is a witness, as its label or what the persisted roster has of
// it, if anything, says (MC13 in internal/membership).
func isWitness(pod *corev1.Pod, recorded *v1.RosterMember) bool {
	return hasWitnessLabel(pod) || recorded != nil && ptr.Deref(recorded.Witness, false)
}

// wantsWitness describes that the group consists of two voters, both of which may coordinate, and
// what to do about it; empty if it does not. If there is a third pod, it says nothing: that pod
// will vote, or another problem names it.
func wantsWitness(f findings) string {
	if !guarded(f.group) || f.choice.voters != 2 {
		return ""
	}
	var two []string
	for _, p := range f.processes {
		switch {
		case p.pod != nil && finished(p.pod):
			continue
		case p.pod == nil || p.priority == 0:
			return ""
		}
		two = append(two, p.name)
	}
	if len(two) != 2 {
		return ""
	}
	return fmt.Sprintf("%s and %s are the only voters, and a majority of 2 is 2: when one of them "+
		"fails, the other may not act either. With a witness, which votes and never coordinates, the "+
		"group could lose 1: kubectl election witness %s -n %s | kubectl apply -f -", two[0], two[1],
		f.group.Name, f.group.Namespace)
}

// refusedWitnesses describes which pods of a Classic group are witnesses, and what to do about it;
// empty if none is.
func refusedWitnesses(f findings) string {
	if guarded(f.group) {
		return ""
	}
	var pods, workloads []string
	for _, p := range f.processes {
		if p.member && p.witness {
			pods = append(pods, p.name)
			workloads = appendNew(workloads, workloadOf(p.pod))
		}
	}
	if len(pods) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s as %s (label %s), and a Classic group has no votes: %s never "+
		"%s and %s no other use. Delete %s (%s)", enumerate(pods), plural(len(pods), "is marked",
		"are marked"), plural(len(pods), "a witness", "witnesses"), v1.WitnessLabel,
		plural(len(pods), "it", "they"), plural(len(pods), "coordinates", "coordinate"),
		plural(len(pods), "has", "have"), plural(len(workloads), "its workload", "their workloads"),
		enumerate(workloads))
}

// allWitnesses reports whether a group has processes, and all of them are witnesses.
func allWitnesses(f findings) bool {
	members := names(f.processes, func(p process) bool { return p.member })
	witnesses := names(f.processes, func(p process) bool { return p.member && p.witness })
	return len(members) > 0 && len(members) == len(witnesses)
}
