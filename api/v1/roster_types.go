package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RosterStatus lists the members of a group.
type RosterStatus struct {
	// generation grows with every change of the roster: max(last + 1, seconds since 2026-01-01).
	// The lower bound keeps the generation of a group that was deleted and created again from going
	// back.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`

	// digest identifies everything that this generation tells the agents, including addresses,
	// priorities, algorithm and timing, except appHealth. A manager that starts uses it to find out
	// whether the roster has changed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`

	// longestLeaseMilliseconds is the longest lease that a vote cast under this or an earlier
	// generation may still have. The manager waits for it before it changes voters, also after an
	// edit made the lease shorter. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LongestLeaseMilliseconds int32 `json:"longestLeaseMilliseconds,omitempty"`

	// rules is the rules level in force in a Guarded group: by which rules its voters promise. The
	// manager raises it when all voters' agents support the next one, and lowers it when an older
	// agent is to vote. Absent counts as 1, and in Classic groups there is none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rules int32 `json:"rules,omitempty"`

	// members are the pods of the group in ring order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Members []RosterMember `json:"members,omitempty"`

	// stepDown is what has become of the newest request to step down (kubectl election step-down).
	// Absent if the group has no annotation podesta.dev/step-down.
	// +optional
	StepDown *StepDownStatus `json:"stepDown,omitempty"`
}

// RosterMember is a pod of the group.
type RosterMember struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the UID of the pod. A new pod with an old name is a new member.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid,omitempty"`

	// stateID identifies the state directory of the agent. In a Guarded group it is set for voters
	// only.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	StateID string `json:"stateID,omitempty"`

	// voter is true if this process votes. In a Classic group that is so while its agent has joined
	// and the pod has neither failed nor succeeded. In a Guarded group it becomes a voter when its
	// agent has joined, and stays one until it may be removed, even if its pod is gone.
	// +optional
	Voter *bool `json:"voter,omitempty"`

	// goneSince is the time at which the manager found the voter's pod missing without confirmation
	// that the voter has stopped; it may still run on a node that is cut off. Once every
	// certificate that the voter can hold has expired, the manager treats it as stopped.
	// +optional
	GoneSince metav1.Time `json:"goneSince,omitzero"`

	// forgotten is true if an operator confirmed that this voter has stopped (kubectl election
	// forget).
	// +optional
	Forgotten *bool `json:"forgotten,omitempty"`

	// replaced is true if the voter's pod has reported from another state directory. Its node may have
	// been replaced under its name, and this voter may still run on the old machine. So the manager
	// does not treat it as stopped, whatever becomes of the pod, before all its certificates have
	// expired or an operator confirms it.
	// +optional
	Replaced *bool `json:"replaced,omitempty"`

	// witness is true if this pod is a witness, which votes and never coordinates: it carries the
	// label podesta.dev/witness, or has carried it. A pod stays a witness.
	// +optional
	Witness *bool `json:"witness,omitempty"`

	// priorityLabel is the label from which a voter has its priority (spec.priority.from: Label), as
	// key=value. It is the key alone if the pod did not have the label.
	// +optional
	// +kubebuilder:validation:MaxLength=381
	PriorityLabel string `json:"priorityLabel,omitempty"`
}
