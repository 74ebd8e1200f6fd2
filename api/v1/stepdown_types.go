package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StepDownRequest is the JSON value of StepDownAnnotation. With it an operator asks that the
// coordinator hand over to another process. It applies to the roster, the process and the epoch
// that the operator saw; otherwise the manager refuses it. Its answer is in status.roster.stepDown.
type StepDownRequest struct {
	// id identifies the request: 1 to 64 letters, digits and hyphens. A request with the ID of the
	// one before is the same request.
	ID string `json:"id"`

	// generation is the generation of the roster that the operator saw.
	Generation int64 `json:"generation"`

	// process is the coordinator that the operator saw.
	Process StepDownProcess `json:"process"`

	// epoch is the epoch of that coordinator. Absent in Classic groups.
	Epoch int64 `json:"epoch,omitempty"`

	// to is the process that is to coordinate instead. Absent: whichever ranks highest.
	To *StepDownProcess `json:"to,omitempty"`

	// seconds is for how long the process is kept from coordinating: 86400 at most. Absent: until
	// another process coordinates.
	Seconds int64 `json:"seconds,omitempty"`
}

// StepDownProcess identifies a process of the group.
type StepDownProcess struct {
	// name is the pod's name.
	Name string `json:"name"`

	// uid is the pod's UID.
	UID types.UID `json:"uid"`
}

// StepDownOutcome is what has become of a request to step down.
//
// +kubebuilder:validation:Enum=Standing;HandedOver;TimeOver;NobodyTookOver;Outdated;NobodyElse;SuccessorUnfit
type StepDownOutcome string

// The outcomes.
const (
	// StepDownStanding: the process has priority 0 on the roster, whatever the spec says.
	StepDownStanding StepDownOutcome = "Standing"
	// StepDownHandedOver: it stood until another process coordinated.
	StepDownHandedOver StepDownOutcome = "HandedOver"
	// StepDownTimeOver: it stood until its time was over.
	StepDownTimeOver StepDownOutcome = "TimeOver"
	// StepDownNobodyTookOver: it ended because no other process coordinated for a lease and 5 s.
	StepDownNobodyTookOver StepDownOutcome = "NobodyTookOver"
	// StepDownOutdated: it was refused, because the roster or the coordinator had changed.
	StepDownOutdated StepDownOutcome = "Outdated"
	// StepDownNobodyElse: it was refused, because no other process that reports is a candidate.
	StepDownNobodyElse StepDownOutcome = "NobodyElse"
	// StepDownSuccessorUnfit: it was refused, because the named successor is no candidate that
	// reports.
	StepDownSuccessorUnfit StepDownOutcome = "SuccessorUnfit"
)

// StepDownStatus is what has become of the newest request to step down.
type StepDownStatus struct {
	// id is the ID of the request.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// process is the process that is to step down. While the request stands, no pod of this name
	// coordinates.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Process string `json:"process,omitempty"`

	// to is the process that ranks above all others while the request stands. Absent if the request
	// names none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	To string `json:"to,omitempty"`

	// until is the time at which the request ends. Absent if it ends when another process
	// coordinates, and if it was refused.
	// +optional
	Until metav1.Time `json:"until,omitzero"`

	// outcome is Standing while the request stands. HandedOver, TimeOver and NobodyTookOver say why
	// it ended; Outdated, NobodyElse and SuccessorUnfit say why it was refused.
	// +required
	Outcome StepDownOutcome `json:"outcome,omitempty"`
}
