package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ElectionGroupStatus is the state of a group that the manager last observed.
type ElectionGroupStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// coordinator is the process that coordinates. In a Guarded group it is the one that a majority
	// of the voters report under the same epoch; in a Classic group it is the one that most of the
	// reporting processes follow. Absent while there is no coordinator.
	// +optional
	Coordinator *CoordinatorStatus `json:"coordinator,omitempty"`

	// running is how many processes on the roster run, of how many that are on it, for example 4/5:
	// the rows of processes in state Normal or Coordinator. It says nothing about who may be elected.
	// It is text because a column of kubectl get cannot put two numbers together.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Running string `json:"running,omitempty"`

	// processes is the process status table, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=512
	Processes []ProcessStatus `json:"processes,omitempty"`

	// elections are the last elections whose results this status has shown, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Elections []ElectionStatus `json:"elections,omitempty"`

	// timing is what spec.timing comes to, with the values of its profile.
	// +optional
	Timing *TimingStatus `json:"timing,omitempty"`

	// toleratedFailures is the number of voters that can fail now: how many more of them report to
	// the manager than a majority of the voters on the roster. Absent in Classic groups, which need
	// no majority, and while there are no voters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToleratedFailures *int32 `json:"toleratedFailures,omitempty"`

	// preemption is what spec.preemption comes to, with its defaults. Absent in Classic groups, where
	// the process that ranks highest takes over at once.
	// +optional
	Preemption *Preemption `json:"preemption,omitempty"`

	// roster lists the members of the group. The manager persists it here before it sends it to
	// agents. Of the status, the manager's decisions depend on nothing else.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.generation >= oldSelf.generation",message="the roster's generation never decreases"
	Roster *RosterStatus `json:"roster,omitempty"`

	// setBack is present while agents use a newer roster than this status holds. See condition
	// Stalled.
	// +optional
	SetBack *SetBackStatus `json:"setBack,omitempty"`

	// conditions are Ready, CoordinatorElected, Degraded, Reconciling and Stalled. All of them are
	// always set.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TimingStatus is what spec.timing comes to. Each field is described there.
type TimingStatus struct {
	// heartbeatMilliseconds is the time between two questions, or two rounds of renewals.
	// +optional
	// +kubebuilder:validation:Minimum=10
	HeartbeatMilliseconds int32 `json:"heartbeatMilliseconds,omitempty"`

	// timeoutMilliseconds is the upper bound of T.
	// +optional
	// +kubebuilder:validation:Minimum=20
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`

	// leaseMaximumMilliseconds is the longest lease. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=40
	LeaseMaximumMilliseconds int32 `json:"leaseMaximumMilliseconds,omitempty"`

	// leaseMinimumMilliseconds is the shortest lease. Absent in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=40
	LeaseMinimumMilliseconds int32 `json:"leaseMinimumMilliseconds,omitempty"`
}

// The conditions of an ElectionGroup. Reconciling and Stalled follow the kstatus conventions.
const (
	// ConditionReady: a coordinator is elected and the status describes the current spec.
	ConditionReady = "Ready"
	// ConditionCoordinatorElected: the reporting processes agree on a running coordinator; in a
	// Guarded group, a majority of the voters reports it under the same epoch.
	ConditionCoordinatorElected = "CoordinatorElected"
	// ConditionDegraded: a process has crashed or does not report, processes disagree about the
	// coordinator, or a pod of the group has no agent.
	ConditionDegraded = "Degraded"
	// ConditionReconciling: the manager is still applying the current spec.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: the group does not make progress until a user takes action.
	ConditionStalled = "Stalled"
)

// CoordinatorStatus is the process that coordinates.
type CoordinatorStatus struct {
	// name is the name of the coordinator's pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// priority is the coordinator's priority on the roster.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Priority *int32 `json:"priority,omitempty"`

	// epoch is the epoch of the coordinator's lease, as one number: generation * 2^20 + ballot. It
	// only grows. Absent in Classic groups, which have no epochs.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch,omitempty"`

	// displayEpoch is the epoch as people read it: generation.ballot, for example 27996650.1.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	DisplayEpoch string `json:"displayEpoch,omitempty"`

	// since is the time at which the manager first observed this process as the coordinator.
	// +optional
	Since metav1.MicroTime `json:"since,omitzero"`
}

// ProcessState is the state of a process as far as the manager knows it.
//
// +kubebuilder:validation:Enum=Normal;Coordinator;Crashed;NotAnswering;Unknown
type ProcessState string

// The states of the process status table (seed 004, tables 4 and 5). NotAnswering and Unknown are
// not in the seed.
const (
	// ProcessNormal: the process runs and follows a coordinator or takes part in an election.
	ProcessNormal ProcessState = "Normal"
	// ProcessCoordinator: the process runs and is the coordinator.
	ProcessCoordinator ProcessState = "Coordinator"
	// ProcessCrashed: the process has ended: its pod is gone, its container has terminated, or links
	// of its peers to it were closed or refused.
	ProcessCrashed ProcessState = "Crashed"
	// ProcessNotAnswering: the process does not answer its peers, and nothing shows that it has
	// ended. It may run, and act until its lease ends. It does not count as connected, though its
	// connection to the manager may be open.
	ProcessNotAnswering ProcessState = "NotAnswering"
	// ProcessUnknown: the manager has not heard from the process.
	ProcessUnknown ProcessState = "Unknown"
)

// AgentState is a problem with the agent of a process.
//
// +kubebuilder:validation:Enum=Missing;Outdated
type AgentState string

// The problems that an agent can have.
const (
	// AgentMissing: the pod has the group's label but no running agent. It does not take part in
	// elections.
	AgentMissing AgentState = "Missing"
	// AgentOutdated: the version of the agent differs from the manager's. The agent takes part in
	// elections (docs/guides/upgrade.md).
	AgentOutdated AgentState = "Outdated"
)

// NotCandidateReason is the reason why a process is not a candidate: it cannot become the
// coordinator.
//
// +kubebuilder:validation:Enum=Unhealthy;NoSession;PriorityZero;Witness;SteppedDown;Leaving;Resting
type NotCandidateReason string

// The reasons why a process is not a candidate.
const (
	// NotCandidateUnhealthy: the app is unhealthy, as its health check shows.
	NotCandidateUnhealthy NotCandidateReason = "Unhealthy"
	// NotCandidateNoSession: the app has no session with its agent, though it had one, or its pod or
	// spec.appHealth.session wants one.
	NotCandidateNoSession NotCandidateReason = "NoSession"
	// NotCandidatePriorityZero: the priority of the process is 0.
	NotCandidatePriorityZero NotCandidateReason = "PriorityZero"
	// NotCandidateWitness: the process is a witness, which votes and never coordinates.
	NotCandidateWitness NotCandidateReason = "Witness"
	// NotCandidateSteppedDown: an operator keeps the process from coordinating
	// (status.roster.stepDown).
	NotCandidateSteppedDown NotCandidateReason = "SteppedDown"
	// NotCandidateLeaving: the process is about to end, or its pod is being deleted.
	NotCandidateLeaving NotCandidateReason = "Leaving"
	// NotCandidateResting: the process reaches no majority of the voters, lost its lease because it
	// stood still, or was restarted while its own voter was bound to it. It tries again within
	// seconds. Shown only while there is no coordinator.
	NotCandidateResting NotCandidateReason = "Resting"
)

// ProcessStatus is a row of the process status table.
type ProcessStatus struct {
	// name is the pod's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// priority is the priority of the process on the roster. That of a witness is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Priority *int32 `json:"priority,omitempty"`

	// state is the state of the process as far as the manager knows it.
	// +required
	State ProcessState `json:"state,omitempty"`

	// follows is the process that this process follows, if that is not status.coordinator. A
	// connected process without follows and electing follows status.coordinator, if there is one. So a
	// failover changes few rows.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Follows string `json:"follows,omitempty"`

	// epoch is the one number of the epoch under which this process follows or coordinates. Absent if
	// it is that of status.coordinator, and in Classic groups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch,omitempty"`

	// electing is true if the process follows nobody while the group has a coordinator.
	// +optional
	Electing *bool `json:"electing,omitempty"`

	// connected is true while the agent of the process is connected to the manager. An agent that
	// reconnects within a second stays connected. Elections do not need it.
	// +optional
	Connected *bool `json:"connected,omitempty"`

	// notCandidate is the reason why the process cannot become the coordinator, as its agent
	// reports it. Absent if it can, or if the agent does not report.
	// +optional
	NotCandidate NotCandidateReason `json:"notCandidate,omitempty"`

	// agent is a problem with the agent of the process: Missing or Outdated. Absent if no problem
	// is known.
	// +optional
	Agent AgentState `json:"agent,omitempty"`

	// agentVersion is the version of the agent if agent is Outdated.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AgentVersion string `json:"agentVersion,omitempty"`
}
