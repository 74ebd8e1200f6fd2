package v1

import "k8s.io/apimachinery/pkg/types"

// ForgetRequest is the JSON value of ForgetAnnotation. With it an operator confirms that the named
// voters have stopped. It applies to one generation of the roster, and only to voters that are not
// connected to the manager; otherwise the manager ignores it.
type ForgetRequest struct {
	// generation is the generation of the roster that the operator saw.
	Generation int64 `json:"generation"`

	// processes are the voters that the operator confirmed have stopped.
	Processes []ForgottenProcess `json:"processes"`
}

// ForgottenProcess identifies a voter.
type ForgottenProcess struct {
	// name is the pod's name.
	Name string `json:"name"`

	// uid is the pod's UID.
	UID types.UID `json:"uid"`
}
