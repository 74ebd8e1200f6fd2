package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// rosterDecision says who is in the group.
type rosterDecision struct {
	// roster is what the agents are to be told; nil if there is nothing to tell them.
	roster *roster.Roster
	// record is to be persisted before that; nil if what is persisted says the same.
	record *v1.RosterStatus
	// stalled says why no roster can be made; empty if one was.
	stalled string
}

// linkPort is the name of the container port on which an agent listens for its peers, if it is not roster.LinkPort.
const linkPort = "podesta-link"

// decideRoster makes the roster. A Classic group takes any roster at once. Two rosters with one generation are the same: the
// digest in the persisted record says so across restarts of the manager.
func decideRoster(o observation) rosterDecision {
	members := membersOf(o)
	if len(members) > v1.MaxProcesses {
		return rosterDecision{stalled: fmt.Sprintf(
			"%d pods carry the label %s=%s, a group has at most %d processes: the last roster stays until there are fewer",
			len(members), v1.GroupLabel, o.group.Name, v1.MaxProcesses)}
	}
	last := o.published.Roster
	if last == nil && len(members) == 0 {
		return rosterDecision{}
	}
	record := &v1.RosterStatus{}
	r := describe(o.group)
	for _, pod := range members {
		m := memberOf(pod, o)
		record.Members = append(record.Members, m)
		r.Processes = append(r.Processes, roster.Process{Name: pod.Name, UID: string(pod.UID), Address: linkAddress(pod),
			Priority: priorityOf(&o.group.Spec, pod.Name), Voter: *m.Voter})
	}
	record.Digest = digest(r, record.Members)
	if last != nil && last.Digest == record.Digest {
		r.Generation = last.Generation
		return rosterDecision{roster: &r}
	}
	record.Generation = nextGeneration(last, o.now)
	r.Generation = record.Generation
	return rosterDecision{roster: &r, record: record}
}

// describe is the part of a roster that the spec gives.
func describe(group *v1.ElectionGroup) roster.Roster {
	timing := group.Spec.Timing
	return roster.Roster{Namespace: group.Namespace, Group: group.Name, GroupUID: string(group.UID),
		Algorithm: string(group.Spec.Algorithm), Safety: string(group.Spec.Safety),
		Heartbeat: time.Duration(timing.HeartbeatMilliseconds) * time.Millisecond,
		Timeout:   time.Duration(timing.TimeoutMilliseconds) * time.Millisecond}
}

// membersOf are the pods of the group that have not ended. A pod that still waits for its node or its address is one: its
// peers then know that it is coming.
func membersOf(o observation) []*corev1.Pod {
	var members []*corev1.Pod
	for _, pod := range o.pods {
		if pod.UID != "" && !ended(pod) {
			members = append(members, pod)
		}
	}
	return members
}

// ended says whether a pod has ended for good.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// memberOf records a pod. Its agent has joined if this manager has seen it, or an earlier one had.
func memberOf(pod *corev1.Pod, o observation) v1.RosterMember {
	m := v1.RosterMember{Name: pod.Name, UID: pod.UID, Voter: new(false)}
	if earlier := recorded(o.published.Roster, pod); earlier != nil {
		m.Incarnation, m.Voter = earlier.Incarnation, new(ptr.Deref(earlier.Voter, false))
	}
	if seen, ok := o.sightings[pod.UID]; ok {
		m.Incarnation, m.Voter = seen.Report.Memory, new(true)
	}
	return m
}

// recorded is the record of a pod in the persisted roster, if it has one.
func recorded(r *v1.RosterStatus, pod *corev1.Pod) *v1.RosterMember {
	if r == nil {
		return nil
	}
	for i := range r.Members {
		if r.Members[i].Name == pod.Name && r.Members[i].UID == pod.UID {
			return &r.Members[i]
		}
	}
	return nil
}

// linkAddress is where a pod's peers reach its agent; empty while the pod has no address.
func linkAddress(pod *corev1.Pod) string {
	if pod.Status.PodIP == "" {
		return ""
	}
	port := int32(roster.LinkPort)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			for _, p := range c.Ports {
				if p.Name == linkPort {
					port = p.ContainerPort
				}
			}
		}
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))
}

// digest identifies all that a roster says, except its generation.
func digest(r roster.Roster, members []v1.RosterMember) string {
	r.Generation = 0
	sum := sha256.New()
	sum.Write(r.Encode())
	for _, m := range members {
		fmt.Fprintf(sum, "%s %q\n", m.Name, m.Incarnation)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// generationEpoch is when generations would have begun to be counted.
var generationEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// nextGeneration grows even where the last one is not known: a group that is made again, or restored from a backup, does
// not go back.
func nextGeneration(last *v1.RosterStatus, now time.Time) int64 {
	seconds := max(int64(now.Sub(generationEpoch)/time.Second), 1)
	if last == nil {
		return seconds
	}
	return max(last.Generation+1, seconds)
}
