package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ElectionGroupStatus is what the manager last saw.
type ElectionGroupStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// coordinator is the process that coordinates: in a Guarded group the one that a majority of the voters report under one
	// epoch, in a Classic group the one that most of the processes that report see. Absent while there is none.
	// +optional
	Coordinator *CoordinatorStatus `json:"coordinator,omitempty"`

	// processes is the process status table, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=512
	Processes []ProcessStatus `json:"processes,omitempty"`

	// lastElection tells how the present coordinator was elected.
	// +optional
	LastElection *ElectionStatus `json:"lastElection,omitempty"`

	// toleratedFailures is how many of the voters on the roster may be lost while a majority of them stays. Absent in Classic
	// groups, which need none, and while there are no voters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToleratedFailures *int32 `json:"toleratedFailures,omitempty"`

	// roster is who is in the group. The manager persists it here before it hands it out; it is the one part of the
	// status that it reads back.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.generation >= oldSelf.generation",message="the roster's generation never decreases"
	Roster *RosterStatus `json:"roster,omitempty"`

	// conditions are Ready, CoordinatorElected, Degraded, Reconciling and Stalled; all are always set.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The conditions of an ElectionGroup. Reconciling and Stalled follow kstatus.
const (
	// ConditionReady: a coordinator is elected and the status speaks of the present spec.
	ConditionReady = "Ready"
	// ConditionCoordinatorElected: the processes that report agree on a live coordinator; in a Guarded group, a majority of
	// the voters under one epoch.
	ConditionCoordinatorElected = "CoordinatorElected"
	// ConditionDegraded: a process is crashed or out of sight, views differ, or a pod of the group runs no agent.
	ConditionDegraded = "Degraded"
	// ConditionReconciling: the manager is still bringing about what the spec asks for.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: nothing will change until a user does something.
	ConditionStalled = "Stalled"
)

// CoordinatorStatus is the process that coordinates.
type CoordinatorStatus struct {
	// name is the coordinator's pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// priority is the roster's priority of the coordinator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Priority *int32 `json:"priority,omitempty"`

	// epoch numbers the lease in Guarded groups; it only grows. Absent in Classic groups, which fence nothing.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch,omitempty"`

	// since is when the manager first saw this process coordinate.
	// +optional
	Since metav1.MicroTime `json:"since,omitzero"`
}

// ProcessState is what is known of a process.
//
// +kubebuilder:validation:Enum=Normal;Coordinator;Crashed;Unknown
type ProcessState string

// The states of the process status table (seed 004, tables 4 and 5; Unknown is ours).
const (
	// ProcessNormal: it is alive and follows a coordinator, or is electing one.
	ProcessNormal ProcessState = "Normal"
	// ProcessCoordinator: it is alive and coordinates.
	ProcessCoordinator ProcessState = "Coordinator"
	// ProcessCrashed: it is known not to run: its pod is missing or has ended, or its peers' links to it were closed.
	ProcessCrashed ProcessState = "Crashed"
	// ProcessUnknown: the manager has no sight of it (yet).
	ProcessUnknown ProcessState = "Unknown"
)

// AgentState says what is wrong with the agent of a process.
//
// +kubebuilder:validation:Enum=Missing;Outdated
type AgentState string

// What may be wrong with an agent.
const (
	// AgentMissing: the pod carries the group's label, but runs no agent. It takes no part.
	AgentMissing AgentState = "Missing"
	// AgentOutdated: the agent is of another version than the manager. It takes part all the same (docs/guides/upgrade.md).
	AgentOutdated AgentState = "Outdated"
)

// ProcessStatus is a row of the process status table.
type ProcessStatus struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// priority is the roster's priority of the process.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Priority *int32 `json:"priority,omitempty"`

	// state is what is known of the process.
	// +required
	State ProcessState `json:"state,omitempty"`

	// coordinator is whom this very process follows. Where two rows differ, the processes disagree.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Coordinator string `json:"coordinator,omitempty"`

	// epoch is the epoch under which this very process follows its coordinator, or coordinates. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch,omitempty"`

	// agent says what is wrong with the process's agent: Missing or Outdated. Absent if nothing is, as far as is known.
	// +optional
	Agent AgentState `json:"agent,omitempty"`

	// agentVersion is the version of an agent that is Outdated.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AgentVersion string `json:"agentVersion,omitempty"`
}

// ElectionReason says why an election was held.
//
// +kubebuilder:validation:Enum=Started;CoordinatorUnreachable;RosterChanged;TwoCoordinators;AnnouncementMissing;Withdrawn;Asked
type ElectionReason string

// ElectionStatus tells how the present coordinator was elected.
type ElectionStatus struct {
	// initiator is the process that called the election.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Initiator string `json:"initiator,omitempty"`

	// reason is why it did.
	// +optional
	Reason ElectionReason `json:"reason,omitempty"`

	// messages is how many messages of the election the reporting processes sent.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Messages *int32 `json:"messages,omitempty"`

	// durationMilliseconds is the longest any reporting process was without a coordinator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DurationMilliseconds *int64 `json:"durationMilliseconds,omitempty"`
}

// RosterStatus is who is in the group.
type RosterStatus struct {
	// generation grows with every change of the roster: max(last + 1, seconds since 2026-01-01), so that a group that
	// is made again does not go back.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation,omitempty"`

	// digest identifies everything that this generation tells the agents (also addresses, priorities, algorithm and
	// timing) but how apps are asked (appHealth), so that a manager that starts knows whether anything has changed since.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`

	// longestLeaseMilliseconds is the longest lease that a promise made under this or an earlier generation may still have.
	// Voters change only after it: a lease that an edit made shorter is waited for. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LongestLeaseMilliseconds int32 `json:"longestLeaseMilliseconds,omitempty"`

	// members are the pods of the group, in ring order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Members []RosterMember `json:"members,omitempty"`
}

// RosterMember is a pod of the group.
type RosterMember struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid is the pod's UID: a new pod of an old name is a new member.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid,omitempty"`

	// stateID is the identity of the state directory of the agent. In a Guarded group it is that of the
	// voter, and empty for a process that is none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	StateID string `json:"stateID,omitempty"`

	// voter says that its agent has joined, and that its pod has neither failed nor succeeded. In a Guarded group voters come
	// and go one at a time: a voter stays on the roster until it may be removed, also when its pod is gone.
	// +optional
	Voter *bool `json:"voter,omitempty"`

	// goneSince is when the manager found the pod of a voter missing, not knowing whether it has ended: it may still run on a
	// node that was cut off. When every certificate that it can have had has ended, it is taken for ended.
	// +optional
	GoneSince metav1.Time `json:"goneSince,omitzero"`

	// forgotten says that an operator answers for this voter having ended (kubectl election forget).
	// +optional
	Forgotten *bool `json:"forgotten,omitempty"`
}
