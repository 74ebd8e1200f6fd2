package roster

import (
	"context"
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// Admission decides which pods get certificates. The decision needs the API server, so the manager
// provides the implementation. Its methods are called concurrently. A *Refusal is a decision, which
// the agent is told; any other error means that no decision is possible at the moment.
type Admission interface {
	// Admit returns the process that a token identifies, if its pod may join.
	Admit(ctx context.Context, token string) (identity.Name, error)
	// Readmit returns nil if a pod with a valid certificate may get another one. Moved refuses one
	// that belongs to another group than its certificate says.
	Readmit(ctx context.Context, name identity.Name) error
	// Present reports whether the manager's watch shows this very pod, with the label of a group. It
	// is called often, and under no lock.
	Present(name identity.Name) bool
	// Claims returns the namespace that a token names; empty if it names none. Nobody has checked
	// the token, so it only decides whose turn it is to have one checked.
	Claims(token string) (namespace string)
}

// Refusal is the decision that a pod may not join. The reason is a sentence that says what to
// change.
type Refusal struct {
	Reason string
	Moved  bool // it may join by its token: as a process of another group
}

func (r *Refusal) Error() string { return r.Reason }

// Refuse returns a *Refusal.
func Refuse(format string, args ...any) error {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// Moved returns a *Refusal of a certificate whose pod belongs to another group now.
func Moved(format string, args ...any) error {
	return &Refusal{Reason: fmt.Sprintf(format, args...), Moved: true}
}

// admissionError converts an error of an Admission into what the agent is told.
func admissionError(err error) error {
	refusal, ok := errors.AsType[*Refusal](err)
	switch {
	case ok && refusal.Moved:
		return refuse(rosterpb.Refusal_MOVED, "%s", refusal.Reason)
	case ok:
		return refuse(rosterpb.Refusal_DENIED, "%s", refusal.Reason)
	}
	return refuse(rosterpb.Refusal_UNAVAILABLE, "the manager cannot decide at the moment whether "+
		"the pod may join; the agent will try again: %v", err)
}
