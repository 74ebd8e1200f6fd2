package group

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// rosterDecision is what is decided about the members of the group.
type rosterDecision struct {
	state membership.State // for the next pass
	// known is the newest roster that was persisted, which the status may have lost since.
	known *v1.RosterStatus
	// roster is what the agents are to be told; nil if there is nothing to tell them.
	roster *roster.Roster
	// record is to be persisted before that; nil if what is persisted says the same. persist is the
	// same for the rules of voters.
	record  *v1.RosterStatus
	persist *membership.Roster
	// stalled is why no roster can be made; empty if one was.
	stalled string
	// lost are the voters without which a Guarded group has no majority, silent those of them whose
	// pods exist, and replaced those of these whose pods came back with another state directory.
	lost, silent, replaced []string
	// hold is why no further process can become a voter now, for agents.
	hold roster.Hold
	// pending is how many processes are to become voters, or to stop being voters, in later
	// changes.
	pending int
	// putOff: another roster is due, and waits.
	putOff bool
	// setBack is what agents use, if that is newer than the roster in the status (MC10).
	setBack *v1.SetBackStatus
	// unsupported is the rules level in force if this manager does not support it; otherwise 0 (MC11).
	unsupported int32
	// again is when time alone would change the roster; zero: it takes an event.
	again time.Duration
	// Why a request to forget voters, to step down or to adopt a roster was not read; empty if it was.
	forgetIgnored, stepDownIgnored, adoptIgnored string
}

// linkPort is the name of the container port on which an agent listens for its peers, if it is not
// roster.LinkPort.
const linkPort = "podesta-link"

// decideRoster applies the rules of voters (internal/membership).
func decideRoster(o observation) rosterDecision {
	facts := factsOf(o)
	var ignored, noStepDown, notAdopted string
	facts.Forget, ignored = forgetRequest(o.group, newestGeneration(o.membership.Roster(),
		facts.Roster))
	facts.Adopt, notAdopted = adoptRequest(o.group)
	if facts.StepDown, noStepDown = stepDownRequest(o.group); awaitsCoordinator(facts) {
		facts.Coordinator = knownCoordinator(o)
	}
	next, decided := membership.Step(o.membership, facts)
	d := rosterDecision{
		state:           next,
		known:           recordOf(next.Roster()),
		lost:            decided.Lost,
		silent:          decided.Silent,
		replaced:        decided.Replaced,
		pending:         decided.Pending,
		putOff:          decided.PutOff,
		unsupported:     decided.Unsupported,
		again:           decided.Again,
		forgetIgnored:   ignored,
		stepDownIgnored: noStepDown,
		adoptIgnored:    notAdopted,
	}
	if decided.SetBack > 0 {
		d.setBack = &v1.SetBackStatus{Newest: decided.SetBack}
		if o.held != nil {
			d.setBack.Held = o.held.Generation
		}
	}
	if decided.TooMany > 0 {
		d.stalled = fmt.Sprintf(
			"%d pods carry the label %s=%s, but a group has at most %d processes. The last "+
				"roster stays in use until there are fewer", decided.TooMany,
			v1.GroupLabel, o.group.Name, v1.MaxProcesses)
	}
	d.hold = holdOf(decided, d.stalled)
	if decided.Roster != nil {
		d.roster = agentRoster(o.group, decided.Roster)
		if decided.Forming {
			d.roster.Preemption = roster.Always
		}
	}
	if decided.Persist {
		d.record, d.persist = recordOf(decided.Roster), decided.Roster
	}
	return d
}

// holdOf returns what agents are told that are to become voters. A majority that is lost may stay
// lost: pods that wait for it are to count as ready, or no rollout could mend the group.
func holdOf(d membership.Decision, stalled string) roster.Hold {
	switch {
	case stalled != "":
		return roster.Hold{Reason: stalled}
	case d.SetBack > 0:
		return roster.Hold{Reason: "the group's status was set back, and no roster is made until it " +
			"counts again: kubectl election explain says what to do"}
	case d.Unsupported > 0:
		return roster.Hold{Reason: "the manager does not support the group's rules level, and makes no " +
			"roster: upgrade the manager"}
	case len(d.Unreached) > 0:
		return roster.Hold{Ready: true, Reason: "the manager does not reach a majority of the voters, " +
			"and without one no process can become a voter; it misses " + strings.Join(d.Unreached, ", ")}
	}
	return roster.Hold{}
}

// newestGeneration returns the generation of the newest of these rosters; zero if there is none.
func newestGeneration(all ...*membership.Roster) (newest int64) {
	for _, r := range all {
		if r != nil {
			newest = max(newest, r.Generation)
		}
	}
	return newest
}

func guarded(group *v1.ElectionGroup) bool { return group.Spec.Safety == v1.Guarded }

// settingsOf returns what agents are told beside the members and the generation. A Classic group
// has no leases.
func settingsOf(group *v1.ElectionGroup) roster.Roster {
	spec := &group.Spec
	times, _ := timingOf(group)
	r := roster.Roster{
		Namespace:    group.Namespace,
		Group:        group.Name,
		GroupUID:     string(group.UID),
		Algorithm:    string(spec.Algorithm),
		Safety:       string(spec.Safety),
		Heartbeat:    times.Heartbeat,
		Timeout:      times.Timeout,
		Lease:        times.Lease,
		LeaseMinimum: times.LeaseMinimum,
		AppHealth:    appHealthOf(spec.AppHealth),
	}
	if guarded(group) {
		preemption := preemptionOf(group)
		r.Preemption = string(preemption.Policy)
		r.Stable = seconds(ptr.Deref(preemption.StableSeconds, 0))
	}
	return r
}

// agentRoster returns a roster as agents are told it. Those of a Classic group are told of no state
// directories: nothing depends on them there.
func agentRoster(group *v1.ElectionGroup, decided *membership.Roster) *roster.Roster {
	r := settingsOf(group)
	r.Generation, r.LongestLease, r.Rules = decided.Generation, decided.LongestLease, decided.Rules
	for _, m := range decided.Members {
		p := roster.Process{
			Name:     m.Name,
			UID:      m.UID,
			Address:  m.Address,
			Priority: m.Priority,
			Voter:    m.Voter,
			Created:  m.Created,
			Grace:    m.Grace,
		}
		if guarded(group) {
			p.StateID = m.StateID
		}
		r.Processes = append(r.Processes, p)
	}
	return &r
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// linkAddress returns where a pod's peers reach its agent; empty while the pod has no address.
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

func votersIn(r *v1.RosterStatus) []v1.RosterMember {
	if r == nil {
		return nil
	}
	var some []v1.RosterMember
	for _, m := range r.Members {
		if isVoter(m) {
			some = append(some, m)
		}
	}
	return some
}

// recorded returns the record of a pod in the persisted roster; nil if it has none.
func recorded(r *v1.RosterStatus, pod *corev1.Pod) *v1.RosterMember {
	if r == nil || pod == nil {
		return nil
	}
	for i := range r.Members {
		if r.Members[i].Name == pod.Name && r.Members[i].UID == pod.UID {
			return &r.Members[i]
		}
	}
	return nil
}
