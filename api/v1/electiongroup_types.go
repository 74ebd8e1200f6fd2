package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ElectionGroup elects a coordinator among the pods whose label podesta.dev/group has the group's
// name as its value.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=eg
// +kubebuilder:printcolumn:name="Algorithm",type=string,JSONPath=`.spec.algorithm`
// +kubebuilder:printcolumn:name="Coordinator",type=string,JSONPath=`.status.coordinator.name`
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Epoch",type=string,priority=1,JSONPath=`.status.coordinator.displayEpoch`
// +kubebuilder:printcolumn:name="Safety",type=string,priority=1,JSONPath=`.spec.safety`
// +kubebuilder:printcolumn:name="Priority",type=integer,priority=1,JSONPath=`.status.coordinator.priority`
// +kubebuilder:printcolumn:name="Since",type=date,priority=1,JSONPath=`.status.coordinator.since`
// +kubebuilder:printcolumn:name="Roster",type=integer,priority=1,JSONPath=`.status.roster.generation`
// +kubebuilder:printcolumn:name="Tolerates",type=integer,priority=1,JSONPath=`.status.toleratedFailures`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:selectablefield:JSONPath=`.spec.algorithm`
// +kubebuilder:selectablefield:JSONPath=`.spec.safety`
// +kubebuilder:selectablefield:JSONPath=`.status.coordinator.name`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 51",fieldPath=".metadata",message="metadata.name must not be longer than 51 characters, so that <name>-coordinator is a valid Service name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.service) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",fieldPath=".metadata",message="with spec.service, metadata.name must consist of lower case letters, digits and '-' and start with a letter, because the Service is named <name>-coordinator"
type ElectionGroup struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired configuration of the group.
	// +optional
	// +default={}
	Spec ElectionGroupSpec `json:"spec,omitzero"`

	// status is the state that the manager last observed. The manager writes it only when it
	// changes.
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

// Algorithm is the name of a classic election algorithm.
//
// +kubebuilder:validation:Enum=Bully;StatusTableBully;LeLann;ChangRoberts;RingList;ActiveListRing
type Algorithm string

// The supported algorithms. Each has a page in docs/reference/algorithms.
const (
	Bully            Algorithm = "Bully"
	StatusTableBully Algorithm = "StatusTableBully"
	LeLann           Algorithm = "LeLann"
	ChangRoberts     Algorithm = "ChangRoberts"
	RingList         Algorithm = "RingList"
	ActiveListRing   Algorithm = "ActiveListRing"
)

// Safety is the promise of a group about two coordinators at the same time.
//
// +kubebuilder:validation:Enum=Guarded;Classic
type Safety string

const (
	// Guarded promises that at most one process may act at any time, as long as the rates of the
	// machines' clocks differ by less than 10 %, and that epochs never decrease. It needs a
	// majority of the group's voters.
	Guarded Safety = "Guarded"
	// Classic is best effort: healthy processes that can reach each other agree on the one with the
	// highest priority (rings: see each algorithm's page for what happens on recovery). During a
	// partition each side may have its own coordinator, and if only the link between the two
	// highest processes fails, both coordinate for as long as that lasts.
	Classic Safety = "Classic"
)

// ElectionGroupSpec is the desired configuration of a group.
//
// +kubebuilder:validation:XValidation:rule="!has(self.safety) || self.safety == 'Classic' || !has(self.timing) || !has(self.timing.leaseMaximumMilliseconds) || !has(self.timing.heartbeatMilliseconds) || self.timing.leaseMaximumMilliseconds >= 4 * self.timing.heartbeatMilliseconds",message="timing.leaseMaximumMilliseconds must be at least 4 times timing.heartbeatMilliseconds: the lease is renewed with every heartbeat, and with a shorter lease one lost message could end a healthy coordinator's lease"
// +kubebuilder:validation:XValidation:rule="!has(self.timing) || !has(self.timing.leaseMinimumMilliseconds) || !has(self.timing.leaseMaximumMilliseconds) || self.timing.leaseMinimumMilliseconds <= self.timing.leaseMaximumMilliseconds",message="timing.leaseMinimumMilliseconds must not be above timing.leaseMaximumMilliseconds"
// +kubebuilder:validation:XValidation:rule="!has(self.safety) || self.safety != 'Classic' || !has(self.preemption)",message="spec.preemption requires safety Guarded: in a Classic group the process with the highest priority always takes over at once"
// +kubebuilder:validation:XValidation:rule="!has(self.safety) || self.safety != 'Classic' || !has(self.timing) || (!has(self.timing.leaseMinimumMilliseconds) && !has(self.timing.leaseMaximumMilliseconds))",message="timing.leaseMaximumMilliseconds and timing.leaseMinimumMilliseconds require safety Guarded: a Classic group has no leases"
type ElectionGroupSpec struct {
	// algorithm is the election algorithm that the processes run. It may be changed while the group
	// runs: the coordinator stays.
	// +optional
	// +default="Bully"
	Algorithm Algorithm `json:"algorithm,omitempty"`

	// processes assigns priorities to pods by name. Pods of the group that are not listed get their
	// priority from spec.priority.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Processes []Process `json:"processes,omitempty"`

	// priority determines the priority of pods that spec.processes does not list.
	// +optional
	// +default={}
	Priority PriorityPolicy `json:"priority,omitzero"`

	// safety is the promise about two coordinators at the same time. Guarded: at most one process
	// may act at any time; needs a majority of the voters. Classic: best effort; during a partition
	// each side may have its own coordinator, and one failed link may be enough for two. It cannot
	// be changed.
	// +optional
	// +default="Guarded"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.safety cannot be changed: delete the group and create it again"
	Safety Safety `json:"safety,omitempty"`

	// timing determines how quickly failures are detected, and for how long machines may stand still.
	// +optional
	// +default={}
	Timing Timing `json:"timing,omitzero"`

	// preemption determines when a process takes over from a running coordinator that has a lower
	// priority. It requires safety Guarded. If absent, the policy is Delayed with stableSeconds 5;
	// status.preemption shows what applies.
	// +optional
	Preemption *Preemption `json:"preemption,omitempty"`

	// appHealth makes each agent probe the app in its own pod. A process whose app is unhealthy is
	// not a candidate: if it is the coordinator it hands over, and it becomes a candidate again
	// when the app is healthy. If absent, apps are not probed. Changing this field does not start
	// an election. An agent's flag --app-health takes precedence.
	// +optional
	AppHealth *AppHealth `json:"appHealth,omitempty"`

	// service makes the manager maintain a Service <name>-coordinator that selects the
	// coordinator's pod. A Service does not fence: connections to a previous coordinator may stay
	// open (docs/guides/routing.md). If a Service of that name exists that this group does not own,
	// the manager leaves it alone and reports that in the group's conditions.
	// +optional
	Service *CoordinatorService `json:"service,omitempty"`
}

// Process assigns a priority to a pod by name.
type Process struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="name must be a pod's name: lower case letters, digits, '-' and '.'"
	Name string `json:"name,omitempty"`

	// priority orders the processes: the running process with the highest priority coordinates.
	// Ties are broken by name. A process with priority 0 never coordinates.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Priority *int32 `json:"priority,omitempty"`
}

// PrioritySource determines how a pod's priority is derived.
//
// +kubebuilder:validation:Enum=Ordinal;ReverseOrdinal;Label
type PrioritySource string

// The sources of a priority. StatefulSets number their pods at the end of the name.
const (
	// Ordinal: the number at the end of the pod's name, plus 1. The highest ordinal goes first.
	Ordinal PrioritySource = "Ordinal"
	// ReverseOrdinal: 1000000 less that number. The lowest ordinal goes first, which a StatefulSet
	// restarts and removes last.
	ReverseOrdinal PrioritySource = "ReverseOrdinal"
	// Label: the value of a label of the pod, as spec.priority.values lists it.
	Label PrioritySource = "Label"
)

// PriorityPolicy determines the priority of pods that spec.processes does not list.
//
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from != 'Label' || (has(self.key) && has(self.values))",message="from: Label requires key, which names the label, and values, which give priorities to its values"
// +kubebuilder:validation:XValidation:rule="(has(self.from) && self.from == 'Label') || (!has(self.key) && !has(self.values))",message="key and values require from: Label"
type PriorityPolicy struct {
	// default is the priority of pods for which no other rule applies. Pods with priority 0 never
	// coordinate.
	// +optional
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Default *int32 `json:"default,omitempty"`

	// from derives the priority from the pod. Ordinal uses the number at the end of the pod's name,
	// plus 1: the highest ordinal goes first. ReverseOrdinal uses 1000000 less that number: the lowest
	// goes first, which a StatefulSet restarts and removes last. Label looks the value of a label up
	// in values. A pod without such a number, or whose value is not listed, gets the default priority,
	// and condition Degraded says so.
	// +optional
	From PrioritySource `json:"from,omitempty"`

	// key is the key of the label that from: Label looks up. The manager reads the label until the
	// process has joined and, in a Guarded group, votes. Later changes of the label have no effect,
	// unless key changes, too.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="key must be the key of a label, such as topology.kubernetes.io/zone"
	Key string `json:"key,omitempty"`

	// values gives priorities to the values of the label. A change takes effect at once.
	// +optional
	// +listType=map
	// +listMapKey=value
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Values []LabelPriority `json:"values,omitempty"`
}

// LabelPriority gives a priority to the pods whose label has a certain value.
type LabelPriority struct {
	// value is the value of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="value must be the value of a label: letters, digits, '-', '_' and '.'"
	Value string `json:"value,omitempty"`

	// priority is the priority of these pods. With priority 0 they never coordinate.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Priority *int32 `json:"priority,omitempty"`
}

// TimingProfile is a choice of timing for one purpose.
//
// +kubebuilder:validation:Enum=Fast;Balanced;Patient
type TimingProfile string

// The profiles (docs/guides/timing.md).
const (
	// Fast: the quickest failover, on machines that never stand still.
	Fast TimingProfile = "Fast"
	// Balanced: nothing is lost when a machine's clocks stop for 300 ms, as they do when a virtual
	// machine is migrated.
	Balanced TimingProfile = "Balanced"
	// Patient: no permission ends while machines and apps stand still for a second.
	Patient TimingProfile = "Patient"
)

// Timing determines how quickly failures are detected, and for how long machines may stand still.
//
// +kubebuilder:validation:XValidation:rule="!has(self.heartbeatMilliseconds) || !has(self.timeoutMilliseconds) || self.timeoutMilliseconds >= 2 * self.heartbeatMilliseconds",message="timeoutMilliseconds must be at least twice heartbeatMilliseconds, otherwise one late heartbeat could depose a healthy coordinator"
type Timing struct {
	// profile is the choice of all other fields; each of them that is set overrides it. Fast: a
	// failover takes about 100 ms on quiet machines. Balanced: about 450 ms, and a coordinator keeps
	// its lease while its machine's clocks stop for up to 300 ms, as in the migration of a virtual
	// machine. Patient: about 3 s, and no permission ends while the coordinator stands still for a
	// second. docs/guides/timing.md has the values. If a value of the profile does not fit a field
	// that is set, it gives way: condition Degraded says which one and what to set, and status.timing
	// has what is used.
	// +optional
	// +default="Balanced"
	Profile TimingProfile `json:"profile,omitempty"`

	// heartbeatMilliseconds is the time between two questions of a process to its coordinator, or
	// between two rounds of renewals by a coordinator that has a lease. While its lease is short, the
	// coordinator renews it more often. If absent, the profile decides: Fast and Balanced 100, Patient
	// 500.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=60000
	HeartbeatMilliseconds int32 `json:"heartbeatMilliseconds,omitempty"`

	// timeoutMilliseconds is the upper bound of T, the time within which a running process answers.
	// The agents measure T; it is never below two heartbeats. If absent, the profile decides: Fast and
	// Balanced 500, Patient 2500.
	// +optional
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=600000
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`

	// leaseMaximumMilliseconds is the longest lease: how long a vote binds a voter at most. After a
	// coordinator has vanished, a Guarded group waits at most this long before another process can be
	// elected. It must be at least 4 heartbeats. If absent, the profile decides: Fast and Balanced
	// 1000, Patient 5000. Classic groups do not use leases.
	// +optional
	// +kubebuilder:validation:Minimum=40
	// +kubebuilder:validation:Maximum=600000
	LeaseMaximumMilliseconds int32 `json:"leaseMaximumMilliseconds,omitempty"`

	// leaseMinimumMilliseconds is the shortest lease. Between it and leaseMaximumMilliseconds the
	// coordinator asks for as short a lease as the network, the machines, its own process and its app
	// let it hold, and renews it four times while it runs. A failover takes about as long as the
	// lease. With leaseMaximumMilliseconds the lease never changes. If absent, the profile decides:
	// Fast 100, Balanced 450, Patient 3000. The coordinator of a large group asks for no lease that
	// makes it send more than one renewal a millisecond, if leaseMaximumMilliseconds and
	// heartbeatMilliseconds allow a longer one. With profile Fast, a group of 100 has no lease below
	// 400 ms.
	// +optional
	// +kubebuilder:validation:Minimum=40
	// +kubebuilder:validation:Maximum=600000
	LeaseMinimumMilliseconds int32 `json:"leaseMinimumMilliseconds,omitempty"`
}

// PreemptionPolicy determines when a process takes over from a running coordinator that has a lower
// priority. Processes of equal priority do not take over from each other.
//
// +kubebuilder:validation:Enum=Always;Delayed;Never
type PreemptionPolicy string

// The preemption policies. With each of them the coordinator steps down before the other process
// takes over.
const (
	// Always: the process with the higher priority takes over at once, but not in the first moments of
	// another one's lease (docs/reference/lease.md, PR2).
	Always PreemptionPolicy = "Always"
	// Delayed: the process with the higher priority takes over when it has answered for
	// stableSeconds without interruption.
	Delayed PreemptionPolicy = "Delayed"
	// Never: a coordinator stays until it fails or leaves.
	Never PreemptionPolicy = "Never"
)

// Preemption determines when a process takes over from a running coordinator that has a lower
// priority. Processes of equal priority do not take over from each other.
//
// +kubebuilder:validation:XValidation:rule="!has(self.stableSeconds) || !has(self.policy) || self.policy == 'Delayed'",message="stableSeconds requires policy Delayed: with Always a process takes over at once, and with Never not at all"
type Preemption struct {
	// policy is Always (take over at once, but not in the first moments of a lease), Delayed (take
	// over after stableSeconds without interruption) or Never.
	// +optional
	// +default="Delayed"
	Policy PreemptionPolicy `json:"policy,omitempty"`

	// stableSeconds is how long, under policy Delayed, a process must have answered without
	// interruption before it takes over. The delay keeps a process that fails repeatedly from
	// interrupting the group each time. If absent, it is 5. The other policies do not have it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	StableSeconds *int32 `json:"stableSeconds,omitempty"`
}
