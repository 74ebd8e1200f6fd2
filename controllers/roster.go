package controllers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
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
	// lost are the voters without which a Guarded group has no majority, and whose end is not known.
	lost []string
	// silent are those of them whose pods are there.
	silent []string
	// pending is how many processes are to become voters, or to be one no more, in steps to come.
	pending int
	// again is when time alone would change the roster; zero if never.
	again time.Duration
}

// linkPort is the name of the container port on which an agent listens for its peers, if it is not roster.LinkPort.
const linkPort = "podesta-link"

// decideRoster makes the roster. A Classic group takes any roster at once; the voters of a Guarded group change by steps. Two
// rosters with one generation are the same, but for AppHealth: the digest in the persisted record says so across restarts of the manager.
func decideRoster(o observation) rosterDecision {
	live := membersOf(o)
	if len(live) > v1.MaxProcesses {
		return rosterDecision{stalled: fmt.Sprintf(
			"%d pods carry the label %s=%s, a group has at most %d processes: the last roster stays until there are fewer",
			len(live), v1.GroupLabel, o.group.Name, v1.MaxProcesses)}
	}
	last := o.published.Roster
	if last == nil && len(live) == 0 {
		return rosterDecision{}
	}
	if wait := deferRoster(o); wait > 0 {
		return rosterDecision{again: wait}
	}
	var d rosterDecision
	record := &v1.RosterStatus{}
	if guarded(o.group) {
		next := nextStep(situationOf(o))
		d = rosterDecision{lost: next.lost, silent: next.silent, pending: next.pending, again: sooner(next.again, leaseAgain(o))}
		record.Members, record.LongestLeaseMilliseconds = guardedMembers(o, live, next.voters), longestLease(o)
	} else {
		for _, pod := range live {
			record.Members = append(record.Members, memberOf(pod, o))
		}
	}
	r := describe(o, record.Members)
	record.Digest = digest(r, record.Members)
	spent, wait := ballotsSpent(o)
	d.again = sooner(d.again, wait)
	if last != nil && last.Digest == record.Digest && !o.wiped && !spent {
		record.Generation = last.Generation
	} else {
		record.Generation = nextGeneration(last, o)
	}
	r.Generation, d.roster = record.Generation, &r
	if last == nil || o.wiped || !equality.Semantic.DeepEqual(record, last) {
		d.record = record
	}
	return d
}

// deferRoster says for how long the first roster of a Guarded group is put off that may have had another one, which is lost: until
// the agents of all live pods have reported which one they use, so that the new one is above it, or settleWithin has passed.
func deferRoster(o observation) time.Duration {
	if !guarded(o.group) || o.published.Roster != nil || !o.inherited || !waitsForPods(o) {
		return 0
	}
	return max(settleWithin-o.now.Sub(o.begun), 0)
}

func guarded(group *v1.ElectionGroup) bool { return group.Spec.Safety == v1.Guarded }

// describe is the roster that agents are told, but for its generation. A Classic group has no leases, and no memories: nothing
// depends on them there.
func describe(o observation, members []v1.RosterMember) roster.Roster {
	spec := &o.group.Spec
	r := roster.Roster{Namespace: o.group.Namespace, Group: o.group.Name, GroupUID: string(o.group.UID),
		Algorithm: string(spec.Algorithm), Safety: string(spec.Safety), Heartbeat: milliseconds(spec.Timing.HeartbeatMilliseconds),
		Timeout: milliseconds(spec.Timing.TimeoutMilliseconds), AppHealth: appHealthOf(spec.AppHealth)}
	if guarded(o.group) {
		policy := ptr.Deref(spec.Preemption, v1.Preemption{})
		r.Lease, r.Preemption = milliseconds(spec.Timing.LeaseMilliseconds), string(cmp.Or(policy.Policy, v1.Delayed))
		r.Stable = time.Duration(ptr.Deref(policy.StableSeconds, 5)) * time.Second
	}
	pods := map[types.UID]*corev1.Pod{}
	for _, pod := range o.pods {
		pods[pod.UID] = pod
	}
	for _, m := range members {
		p := roster.Process{Name: m.Name, UID: string(m.UID), Priority: rosterPriority(spec, m.Name, pods[m.UID]),
			Voter: isVoter(m)}
		if pod := pods[m.UID]; pod != nil {
			p.Address = linkAddress(pod)
		}
		if guarded(o.group) {
			p.StateID = m.StateID
		}
		r.Processes = append(r.Processes, p)
	}
	return r
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

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

// memberOf records a pod of a Classic group. Its agent has joined if this manager has seen it, or an earlier one had. Its
// memory is recorded once: in a Classic group nothing depends on it, and one that changes makes no new roster.
func memberOf(pod *corev1.Pod, o observation) v1.RosterMember {
	m := v1.RosterMember{Name: pod.Name, UID: pod.UID, Voter: new(false)}
	seen, joined := o.sightings[pod.UID]
	if earlier := recorded(o.published.Roster, pod); earlier != nil && isVoter(*earlier) {
		m.StateID, m.Voter = earlier.StateID, new(true)
	} else if joined {
		m.StateID, m.Voter = seen.Report.StateID, new(true)
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

// digest identifies all that a roster says, except its generation, and how apps are asked, which is no election's business: a new
// generation would give the coordinator a new epoch. That an operator has forgotten a voter makes another roster,
// too, so that the request, which is bound to a generation, works once.
func digest(r roster.Roster, members []v1.RosterMember) string {
	r.Generation, r.AppHealth = 0, roster.AppHealth{}
	sum := sha256.New()
	sum.Write(r.Encode())
	for _, m := range members {
		if ptr.Deref(m.Forgotten, false) {
			fmt.Fprintf(sum, "%s is forgotten\n", m.UID)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// generationEpoch is when generations would have begun to be counted.
var generationEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// nextGeneration grows even where the last one is not known: a group that is made again, or restored from a backup, does not go
// back. There it is above what agents report, too, as far as that can be: they may use a roster that was ahead of the clock.
func nextGeneration(last *v1.RosterStatus, o observation) int64 {
	seconds := max(int64(o.now.Sub(generationEpoch)/time.Second), 1)
	if last != nil {
		return max(last.Generation+1, seconds)
	}
	const hour = 60 * 60
	next := seconds
	for _, s := range o.sightings {
		if s.Report.Generation < seconds+hour {
			next = max(next, s.Report.Generation+1)
		}
	}
	return next
}
