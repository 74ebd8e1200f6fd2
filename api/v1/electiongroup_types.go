package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ElectionGroup elects a coordinator among the pods that carry the label podesta.dev/group with its name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=eg
// +kubebuilder:printcolumn:name="Algorithm",type=string,JSONPath=`.spec.algorithm`
// +kubebuilder:printcolumn:name="Coordinator",type=string,JSONPath=`.status.coordinator.name`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.status.coordinator.epoch`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Safety",type=string,priority=1,JSONPath=`.spec.safety`
// +kubebuilder:printcolumn:name="Priority",type=integer,priority=1,JSONPath=`.status.coordinator.priority`
// +kubebuilder:printcolumn:name="Since",type=date,priority=1,JSONPath=`.status.coordinator.since`
// +kubebuilder:printcolumn:name="Generation",type=integer,priority=1,JSONPath=`.status.roster.generation`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:selectablefield:JSONPath=`.spec.algorithm`
// +kubebuilder:selectablefield:JSONPath=`.spec.safety`
// +kubebuilder:selectablefield:JSONPath=`.status.coordinator.name`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 51",message="metadata.name may have at most 51 characters, so that <name>-coordinator is a valid Service name"
type ElectionGroup struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what the user asks for.
	// +optional
	// +default={}
	Spec ElectionGroupSpec `json:"spec,omitzero"`

	// status is what the manager last saw. It is written on change only.
	// +optional
	Status ElectionGroupStatus `json:"status,omitzero"`
}

// ElectionGroupList is a list of ElectionGroups.
//
// +kubebuilder:object:root=true
type ElectionGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []ElectionGroup `json:"items"`
}

// Algorithm names a classic election algorithm.
//
// +kubebuilder:validation:Enum=Bully;StatusTableBully;LeLann;ChangRoberts;RingList;ActiveListRing
type Algorithm string

// The algorithms; each has a page under docs/algorithms.
const (
	Bully            Algorithm = "Bully"
	StatusTableBully Algorithm = "StatusTableBully"
	LeLann           Algorithm = "LeLann"
	ChangRoberts     Algorithm = "ChangRoberts"
	RingList         Algorithm = "RingList"
	ActiveListRing   Algorithm = "ActiveListRing"
)

// Safety says what a group promises about two coordinators at once.
//
// +kubebuilder:validation:Enum=Classic
type Safety string

// Classic promises what the book promises: once the network behaves, all live processes that can reach each other agree
// on one coordinator. During a partition each side may have its own.
const Classic Safety = "Classic"

// ElectionGroupSpec is what the user asks for.
type ElectionGroupSpec struct {
	// algorithm is the election algorithm that the processes run. It may be edited on a live group: the coordinator stays.
	// +optional
	// +default="Bully"
	Algorithm Algorithm `json:"algorithm,omitempty"`

	// processes are pods named outright, with their priorities. A pod of the group that is not named here gets its
	// priority from spec.priority.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Processes []Process `json:"processes,omitempty"`

	// priority says which priority a pod gets that spec.processes does not name.
	// +optional
	// +default={}
	Priority PriorityPolicy `json:"priority,omitzero"`

	// safety is what the group promises about two coordinators at once. It cannot be changed.
	// +optional
	// +default="Classic"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.safety cannot be changed: delete the group and create it anew"
	Safety Safety `json:"safety,omitempty"`

	// timing bounds how long failures take to be noticed.
	// +optional
	// +default={}
	Timing Timing `json:"timing,omitzero"`
}

// Process is a pod named outright.
type Process struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="name must be a pod's name: lower case letters, digits, '-' and '.'"
	Name string `json:"name,omitempty"`

	// priority orders the processes: the highest live one coordinates. Equal priorities are ordered by name. A process
	// of priority 0 never coordinates.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Priority *int32 `json:"priority,omitempty"`
}

// PrioritySource says where the priority of a pod comes from.
//
// +kubebuilder:validation:Enum=Ordinal
type PrioritySource string

// Ordinal takes the number at the end of the pod's name, plus 1, as StatefulSets count.
const Ordinal PrioritySource = "Ordinal"

// PriorityPolicy says which priority a pod gets that is not named outright.
type PriorityPolicy struct {
	// default is the priority of a pod for which nothing else says one. 0 keeps such pods from ever coordinating.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Default *int32 `json:"default,omitempty"`

	// from derives the priority from the pod: Ordinal takes the number at the end of its name, plus 1. A pod without
	// such a number gets the default.
	// +optional
	From PrioritySource `json:"from,omitempty"`
}

// Timing bounds how long failures take to be noticed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.heartbeatMilliseconds) || !has(self.timeoutMilliseconds) || self.timeoutMilliseconds >= 2 * self.heartbeatMilliseconds",message="timeoutMilliseconds (500 unless set) must be at least twice heartbeatMilliseconds, or one late heartbeat would depose a healthy coordinator"
type Timing struct {
	// heartbeatMilliseconds is how often a process asks its coordinator whether it is there.
	// +optional
	// +default=100
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	HeartbeatMilliseconds int32 `json:"heartbeatMilliseconds,omitempty"`

	// timeoutMilliseconds is the upper bound of T, the time within which a live process answers. T itself is measured;
	// it is never below two heartbeats.
	// +optional
	// +default=500
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=600000
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`
}

// ElectionGroupStatus is what the manager last saw.
type ElectionGroupStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// coordinator is the process that coordinates, as most of the processes that report see it. Absent while there is none.
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
	// ConditionCoordinatorElected: the processes that report agree on a live coordinator.
	ConditionCoordinatorElected = "CoordinatorElected"
	// ConditionDegraded: a process is crashed or out of sight, or views differ.
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

	// epoch numbers the tenure in Guarded groups; it only grows. Absent in Classic groups, which fence nothing.
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
	// timing), so that a manager that starts knows whether anything has changed since.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`

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

	// incarnation names the memory of the agent: the identity of its state directory. Empty until it has joined.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Incarnation string `json:"incarnation,omitempty"`

	// voter says that its agent has joined, and that its pod has neither failed nor succeeded.
	// +optional
	Voter *bool `json:"voter,omitempty"`
}

// Labels and names that the API fixes.
const (
	// GroupLabel on a pod names its ElectionGroup.
	GroupLabel = "podesta.dev/group"
	// RoleLabel is on the coordinator's pod only, with the value RoleCoordinator.
	RoleLabel = "podesta.dev/role"
	// RoleCoordinator is the value of RoleLabel.
	RoleCoordinator = "coordinator"
	// TrustConfigMap is the ConfigMap with the CA bundle, in every namespace that has a group; its key is TrustKey.
	TrustConfigMap = "podesta-trust"
	// TrustKey is the key of the PEM bundle in TrustConfigMap.
	TrustKey = "ca.crt"
	// AgentContainer is the name of the agent's container in a pod: a native sidecar.
	AgentContainer = "podesta-agent"
	// LeaderLabel is on the leading manager's own pod only, with the value "true"; Service podesta-roster selects it.
	LeaderLabel = "podesta.dev/leader"
	// Audience is the audience of the ServiceAccount tokens with which agents join.
	Audience = "podesta.dev"
	// MaxProcesses is the most processes a group may have.
	MaxProcesses = 256
)
