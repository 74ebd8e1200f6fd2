package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ElectionReason is the reason why an election was started, or why the group got another
// coordinator without one.
//
// +kubebuilder:validation:Enum=Started;CoordinatorUnreachable;RosterChanged;TwoCoordinators;AnnouncementMissing;Withdrawn;Asked;Preempted;HandedOver;Drained;SteppedDown;Rolled
type ElectionReason string

// The reasons of elections that somebody wanted.
const (
	// ReasonPreempted: a process took over from a coordinator that ran and has a lower priority.
	ReasonPreempted ElectionReason = "Preempted"
	// ReasonHandedOver: somebody or something asked the coordinator to end.
	ReasonHandedOver ElectionReason = "HandedOver"
	// ReasonDrained: the coordinator's pod was evicted, as kubectl drain does.
	ReasonDrained ElectionReason = "Drained"
	// ReasonSteppedDown: an operator asked the coordinator to step down.
	ReasonSteppedDown ElectionReason = "SteppedDown"
	// ReasonRolled: the coordinator's pod was deleted during a rollout.
	ReasonRolled ElectionReason = "Rolled"
)

// ElectionStatus describes an election that gave the group its coordinator. Who started it, why,
// and what it cost is what the agents report of it, so it may be absent and may come later.
type ElectionStatus struct {
	// at is the time at which the manager first saw the result.
	// +required
	At metav1.MicroTime `json:"at,omitzero"` //nolint:kubeapilinter // the zero time is none

	// id names the election as the agents do: the process that called it, the number of that
	// process's start, and a sequence number, for example scheduler-3/17/4. Absent if no agent has
	// reported it, or if a lease was obtained again without a new announcement.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	ID string `json:"id,omitempty"`

	// reason is the reason why the initiator started it. The manager itself finds Preempted,
	// HandedOver, Drained, SteppedDown and Rolled.
	// +optional
	Reason ElectionReason `json:"reason,omitempty"`

	// initiator is the process that started the election.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Initiator string `json:"initiator,omitempty"`

	// algorithm is the algorithm of the group at that time.
	// +optional
	Algorithm Algorithm `json:"algorithm,omitempty"`

	// messages is the number of election messages that the reporting processes sent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Messages *int32 `json:"messages,omitempty"`

	// messagesAtMost is the number of messages that one election takes at most by the page of the
	// algorithm, among as many processes as were on the roster. More were sent if several processes
	// called an election, or if processes failed meanwhile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MessagesAtMost *int32 `json:"messagesAtMost,omitempty"`

	// durationMilliseconds is the longest time that a reporting process had no coordinator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DurationMilliseconds *int64 `json:"durationMilliseconds,omitempty"`

	// from is the coordinator before. It is the same as to if a process obtained its lease again.
	// Absent if there was none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	From string `json:"from,omitempty"`

	// to is the process that was elected.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	To string `json:"to,omitempty"`

	// epoch is the epoch of the lease when the manager first saw the result, as one number. A later
	// change of the epoch in place, after a new generation of the roster for example, is no
	// election. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch,omitempty"`

	// displayEpoch is the epoch as people read it: generation.ballot, for example 27996650.1.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	DisplayEpoch string `json:"displayEpoch,omitempty"`
}
