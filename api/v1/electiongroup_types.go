package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
// +kubebuilder:printcolumn:name="Tolerates",type=integer,priority=1,JSONPath=`.status.toleratedFailures`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:selectablefield:JSONPath=`.spec.algorithm`
// +kubebuilder:selectablefield:JSONPath=`.spec.safety`
// +kubebuilder:selectablefield:JSONPath=`.status.coordinator.name`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 51",message="metadata.name may have at most 51 characters, so that <name>-coordinator is a valid Service name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.service) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="with spec.service, metadata.name must be lower case letters, digits and '-', beginning with a letter: the Service is called <name>-coordinator"
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

// The algorithms; each has a page under docs/reference/algorithms.
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
// +kubebuilder:validation:Enum=Guarded;Classic
type Safety string

const (
	// Guarded promises that at most one process may act at any time, as long as clock rates differ by less than 10 %, and that
	// epochs never go back. It needs a majority of the group's voters.
	Guarded Safety = "Guarded"
	// Classic promises what the book promises: once the network behaves, all live processes that can reach each other agree
	// on one coordinator. During a partition each side may have its own.
	Classic Safety = "Classic"
)

// ElectionGroupSpec is what the user asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.safety) || self.safety == 'Classic' || !has(self.timing) || !has(self.timing.leaseMilliseconds) || !has(self.timing.heartbeatMilliseconds) || self.timing.leaseMilliseconds >= 4 * self.timing.heartbeatMilliseconds",message="timing.leaseMilliseconds (1000 unless set) must be at least 4 times timing.heartbeatMilliseconds: the lease is renewed with every heartbeat, and one lost message would end a healthy coordinator's lease"
// +kubebuilder:validation:XValidation:rule="!has(self.safety) || self.safety != 'Classic' || !has(self.preemption)",message="spec.preemption is for Guarded groups: in a Classic group a higher process always takes over at once, as in the books"
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
	// +default="Guarded"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.safety cannot be changed: delete the group and create it anew"
	Safety Safety `json:"safety,omitempty"`

	// timing bounds how long failures take to be noticed.
	// +optional
	// +default={}
	Timing Timing `json:"timing,omitzero"`

	// preemption says when a process takes over from a living coordinator of a lower priority. Guarded groups only; absent
	// means policy Delayed with stableSeconds 5.
	// +optional
	Preemption *Preemption `json:"preemption,omitempty"`

	// appHealth has each agent ask whether the app in its own pod is well. A process whose app is ill is no candidate: it hands
	// over if it coordinates, and comes back when the app is well. Absent, the app is not asked. An edit makes no election.
	// (The flag --app-health of an agent wins over this.)
	// +optional
	AppHealth *AppHealth `json:"appHealth,omitempty"`

	// service has the manager keep a Service <name>-coordinator that leads to the coordinator. It fences nothing
	// (docs/guides/routing.md). A Service of that name that is not the group's is left alone, and the group says so.
	// +optional
	Service *CoordinatorService `json:"service,omitempty"`
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

	// leaseMilliseconds is how long a voter's promise binds it, and so the longest that a Guarded group is without a
	// coordinator for the sake of one that vanished. At least 4 heartbeats. Classic groups have no leases.
	// +optional
	// +default=1000
	// +kubebuilder:validation:Minimum=40
	// +kubebuilder:validation:Maximum=600000
	LeaseMilliseconds int32 `json:"leaseMilliseconds,omitempty"`
}

// PreemptionPolicy says when a process takes over from a living coordinator of a lower priority.
//
// +kubebuilder:validation:Enum=Always;Delayed;Never
type PreemptionPolicy string

// The policies. Each is a hand-over: the coordinator steps down first.
const (
	// Always: as soon as a higher process is there.
	Always PreemptionPolicy = "Always"
	// Delayed: when a higher process has been there for stableSeconds without a gap.
	Delayed PreemptionPolicy = "Delayed"
	// Never: a coordinator stays until it fails or leaves.
	Never PreemptionPolicy = "Never"
)

// Preemption says when a process takes over from a living coordinator of a lower priority.
type Preemption struct {
	// policy is Always (at once), Delayed (when the higher process has been there for stableSeconds) or Never.
	// +optional
	// +default="Delayed"
	Policy PreemptionPolicy `json:"policy,omitempty"`

	// stableSeconds is how long, under the policy Delayed, a higher process must have answered without a gap before it takes
	// over: one that comes and goes does not take the group down with it.
	// +optional
	// +default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StableSeconds *int32 `json:"stableSeconds,omitempty"`
}
