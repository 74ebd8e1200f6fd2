package membership

import "time"

// Facts is what a manager knows of a group in one pass.
type Facts struct {
	// Now is the manager's clock. Every other time in here is a reading of it, too.
	Now time.Time
	// Date is what the API server's clock shows, as far as the manager knows; zero: what Now is. It
	// numbers generations (MC1).
	Date time.Time
	// ClockAgrees: the manager's wall clock agrees with the API server's. A time that is kept from
	// one manager to the next, or compared with one that was, counts only then (MC5).
	ClockAgrees bool
	// Guarded groups have voters that change by the rules; a Classic group takes any roster.
	Guarded bool
	// Rules is the newest rules level that this manager supports (MC11); 0 counts as 1.
	Rules int32
	// Lease is the lease that the group's spec asks for.
	Lease time.Duration
	// Settings stands for everything that agents are told beside the members: the algorithm, the
	// timing and so on. Two different settings are two different strings.
	Settings string
	// Delayed: preemption waits for stableSeconds, unless the group forms (MC15).
	Delayed bool
	// Roster is the roster in the group's status; nil if there is none.
	Roster *Roster
	// After is the newest generation of a group object of the same name that was deleted; 0: none is
	// known.
	After int64
	// Named are the processes that the group's spec names, whether their pods exist or not.
	Named []string
	// Pods carry the group's label, in the order of CompareNames. Each has a name and a UID of its
	// own.
	Pods []Pod
	// Reports are the newest ones of the agents, one for each pod UID at most, of pods that exist,
	// or are on the roster, or are connected.
	Reports []Report
	// Ended are pods that the kubelet itself reported as over (MC5), whether they still exist or
	// not.
	Ended []EndedPod
	// Forget is what an operator confirms.
	Forget ForgetRequest
	// Held is the newest roster that agents of this group object have shown, as a manager signed it;
	// nil: none. It matters when the status was set back (MC10).
	Held *Roster
	// Adopt is what an operator says of a status that was set back.
	Adopt AdoptRequest
	// StepDown is what an operator asks of the coordinator (MC12).
	StepDown StepDownRequest
	// Coordinator is who coordinates, as the manager knows from the reports. It matters for MC12 only.
	Coordinator Coordinator
	// Begun is when this run of the manager first saw the group.
	Begun time.Time
	// Inherited: the group is older than this run of the manager, so that it may have had a roster
	// that the status has lost.
	Inherited bool
}

// Pod is a pod of the group as the API shows it.
type Pod struct {
	Name    string
	UID     string
	Address string // where other agents reach it; empty: nowhere yet
	// Priority is the one that the group's spec gives it (see MC8).
	Priority int32
	// Created is when it was made: see Member.
	Created int64
	// Label is what the roster is to record of it when it votes: see Member.
	Label string
	// Witness: it is marked as one, or was (MC13).
	Witness bool
	// Finished: its phase is Succeeded or Failed, whoever set it. This alone proves nothing (MC5).
	Finished bool
	// DeletionBegan is when its deletion was asked for, and DeletionDue when its grace period has
	// passed; both are zero if it is not being deleted.
	DeletionBegan time.Time
	DeletionDue   time.Time
}

// Report is what an agent told this manager last.
type Report struct {
	UID        string // of its pod
	StateID    string // identity of its state directory; empty: it has not said
	Generation int64  // of the roster that it uses; 0: none yet
	OtherGroup bool   // that is a roster of another group object of this name
	Connected  bool   // to this manager, now
	Since      time.Time
	Leaving    bool // it said that it is about to end
	Left       bool // it said that it has: it answers nobody any more (MC5)
	// Coordinator is the process that it follows under an epoch, or itself if it holds the lease;
	// empty: nobody that may act.
	Coordinator string
	// BallotsSpent: it would ask for votes, and the ballots of its generation are used up.
	BallotsSpent bool
	// NotCandidate: it said that it cannot coordinate: its app is unhealthy, or it rests.
	NotCandidate bool
	Rules        int32 // the newest rules level that it supports (MC11); 0 counts as 1
}

// EndedPod is a pod of which nothing runs any more, and never will.
type EndedPod struct {
	UID string
	At  time.Time // when this manager learnt of it
}

// ForgetRequest is an operator's word that voters have stopped (kubectl election forget). It counts
// for one generation only: taking it up makes the next one, so it works once.
type ForgetRequest struct {
	Generation int64
	Processes  map[Identity]bool
}

// AdoptRequest is an operator's word which roster counts after the status was set back (kubectl
// election adopt). It counts until agents report a newer generation than he has seen. Taking it up
// makes a newer one, so it works once.
type AdoptRequest struct {
	Generation int64 // of the roster: that of Facts.Held, or of State.Roster (0: none)
	Newest     int64 // the newest generation that he has seen agents report; 0: there is no request
}

// Identity is a pod by name and UID.
type Identity struct{ Name, UID string }

// deleting reports whether the deletion of the pod was asked for.
func (p *Pod) deleting() bool { return !p.DeletionDue.IsZero() }

func (f *Facts) pod(uid string) *Pod {
	for i := range f.Pods {
		if f.Pods[i].UID == uid {
			return &f.Pods[i]
		}
	}
	return nil
}

func (f *Facts) report(uid string) *Report {
	for i := range f.Reports {
		if f.Reports[i].UID == uid {
			return &f.Reports[i]
		}
	}
	return nil
}

// date is what the API server's clock shows.
func (f *Facts) date() time.Time {
	if f.Date.IsZero() {
		return f.Now
	}
	return f.Date
}
