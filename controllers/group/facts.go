package group

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// factsOf translates an observation into what the rules of voters know, apart from what an operator
// asks for (see forgetRequest, stepDownRequest and adoptRequest).
func factsOf(o observation) *membership.Facts {
	settings := settingsOf(o.group)
	settings.AppHealth = roster.AppHealth{} // elections do not need it, so it makes no generation
	f := &membership.Facts{
		Now:         o.now,
		ClockAgrees: o.agrees,
		Date:        o.date,
		Guarded:     guarded(o.group),
		Rules:       o.rules,
		Lease:       settings.Lease,
		Settings:    string(settings.Encode()),
		Delayed:     settings.Preemption == roster.Delayed,
		Roster:      rosterFrom(o.published.Roster),
		After:       o.after,
		Held:        rosterShown(o.held),
		Begun:       o.begun,
		Inherited:   o.inherited,
	}
	for _, p := range o.group.Spec.Processes {
		f.Named = append(f.Named, p.Name)
	}
	for _, pod := range o.pods {
		if pod.UID == "" {
			continue
		}
		f.Pods = append(f.Pods, podFact(pod, &o.group.Spec, recorded(o.published.Roster, pod)))
		if nothingRuns(pod) && o.ended[pod.UID].IsZero() {
			f.Ended = append(f.Ended, membership.EndedPod{UID: string(pod.UID), At: o.now})
		}
	}
	for uid, at := range o.ended {
		f.Ended = append(f.Ended, membership.EndedPod{UID: string(uid), At: at})
	}
	for uid, s := range o.sightings {
		f.Reports = append(f.Reports, reportFact(uid, s, o.group.UID))
	}
	return f
}

// podFact returns what the rules know of a pod, where earlier is its record in the persisted
// roster; nil: it has none.
func podFact(pod *corev1.Pod, spec *v1.ElectionGroupSpec,
	earlier *v1.RosterMember) membership.Pod {
	label := priorityLabel(spec, pod, earlier)
	priority, _ := priorityOf(spec, pod.Name, label)
	p := membership.Pod{
		Name:     pod.Name,
		UID:      string(pod.UID),
		Address:  linkAddress(pod),
		Priority: priority,
		Label:    label,
		Witness:  hasWitnessLabel(pod),
		Finished: finished(pod),
		Created:  max(pod.CreationTimestamp.Unix(), 0),
	}
	if pod.DeletionTimestamp != nil { // Kubernetes has added the grace period to it
		grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
		p.DeletionBegan, p.DeletionDue = pod.DeletionTimestamp.Add(
			-grace), pod.DeletionTimestamp.Time
	}
	return p
}

func reportFact(uid types.UID, s roster.Sighting, group types.UID) membership.Report {
	r := membership.Report{
		UID:          string(uid),
		StateID:      s.Report.StateID,
		Generation:   s.Report.Generation,
		OtherGroup:   ofOtherGroup(s.Report, group),
		Connected:    s.Connected,
		Since:        s.Since,
		Leaving:      s.Report.Leaving,
		Left:         s.Report.Left,
		NotCandidate: withdrawn(s.Report),
		Rules:        s.Report.Rules,
		BallotsSpent: s.Report.LeaseState == roster.LeaseBallotsSpent,
	}
	if follows(s.Report) {
		r.Coordinator = s.Report.Coordinator
	}
	return r
}

// ofOtherGroup reports whether an agent uses a roster of another group object of this name: one
// that was deleted, or one that is newer than what this manager has seen.
func ofOtherGroup(r roster.Report, group types.UID) bool {
	return r.GroupUID != "" && r.GroupUID != string(group)
}

// withdrawn reports whether an agent says that its process cannot coordinate, whatever its
// priority.
func withdrawn(r roster.Report) bool {
	return r.Withdrawn || r.NotCandidate != "" && r.NotCandidate != roster.NotCandidatePriorityZero
}

// follows reports whether an agent of a Guarded group follows a process that may act, or is it.
func follows(r roster.Report) bool {
	return (r.LeaseState == roster.LeaseFollowing || r.LeaseState == roster.LeaseHolding) &&
		r.Coordinator != "" && r.Epoch > 0
}

// rosterFrom reads a persisted roster; nil if there is none.
func rosterFrom(r *v1.RosterStatus) *membership.Roster {
	if r == nil {
		return nil
	}
	read := &membership.Roster{
		Generation:   r.Generation,
		Digest:       r.Digest,
		LongestLease: milliseconds(r.LongestLeaseMilliseconds),
		Rules:        r.Rules,
		StepDown:     stepDownFrom(r.StepDown),
	}
	for _, m := range r.Members {
		read.Members = append(read.Members, membership.Member{
			Name:      m.Name,
			UID:       string(m.UID),
			StateID:   m.StateID,
			Voter:     isVoter(m),
			GoneSince: m.GoneSince.Time,
			Forgotten: ptr.Deref(m.Forgotten, false),
			Replaced:  ptr.Deref(m.Replaced, false),
			Witness:   ptr.Deref(m.Witness, false),
			Label:     m.PriorityLabel,
		})
	}
	return read
}

// recordOf returns a roster as it is persisted; nil if there is none.
func recordOf(r *membership.Roster) *v1.RosterStatus {
	if r == nil {
		return nil
	}
	record := &v1.RosterStatus{
		Generation:               r.Generation,
		Digest:                   r.Digest,
		LongestLeaseMilliseconds: int32(r.LongestLease.Milliseconds()), //nolint:gosec // of an int32
		Rules:                    r.Rules,
		StepDown:                 stepDownRecord(r.StepDown),
	}
	for _, m := range r.Members {
		member := v1.RosterMember{
			Name:          m.Name,
			UID:           types.UID(m.UID),
			StateID:       m.StateID,
			Voter:         new(m.Voter),
			GoneSince:     metav1.NewTime(m.GoneSince),
			PriorityLabel: m.Label,
		}
		if m.Forgotten {
			member.Forgotten = new(true)
		}
		if m.Replaced {
			member.Replaced = new(true)
		}
		if m.Witness {
			member.Witness = new(true)
		}
		record.Members = append(record.Members, member)
	}
	return record
}

func isVoter(m v1.RosterMember) bool { return ptr.Deref(m.Voter, false) }
