package roster

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podesta-dev/podesta/internal/identity"
)

// Admission decides who may have a certificate. It needs the API server, so the manager brings it in. Its methods are called
// by several goroutines. A *Refusal is a decision and is told to the agent; any other error means that it could not be
// decided now.
type Admission interface {
	// Admit says for whom a token speaks, if that pod may join.
	Admit(ctx context.Context, token string) (identity.Name, error)
	// Readmit says whether a pod that shows a valid certificate may have another one.
	Readmit(ctx context.Context, name identity.Name) error
}

// Refusal is the decision that a pod may not join, in a sentence that says what would change it.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Refuse makes a Refusal.
func Refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// admissionError is how an error of an Admission reaches the agent.
func admissionError(err error) error {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return status.Error(codes.PermissionDenied, refusal.Reason)
	}
	return status.Errorf(codes.Unavailable, "the manager cannot decide now whether the pod may join, try again: %v", err)
}
