package v1

import "k8s.io/apimachinery/pkg/types"

// ForgetRequest is the value of ForgetAnnotation, as JSON: an operator answers for these voters having ended. It holds for
// one generation of the roster, and only for voters that are not connected to the manager; otherwise nothing happens.
type ForgetRequest struct {
	// generation is that of the roster that the operator saw.
	Generation int64 `json:"generation"`

	// processes are the voters that are to be held for ended.
	Processes []ForgottenProcess `json:"processes"`
}

// ForgottenProcess names a voter.
type ForgottenProcess struct {
	// name is the pod's name.
	Name string `json:"name"`

	// uid is the pod's UID.
	UID types.UID `json:"uid"`
}
