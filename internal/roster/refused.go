package roster

import (
	"errors"
	"fmt"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// refused is the answer that something is not done: a code for the agent and a sentence for people.
type refused struct {
	code rosterpb.Refusal_Code
	text string
}

func (r *refused) Error() string { return r.text }

func refuse(code rosterpb.Refusal_Code, format string, args ...any) error {
	return &refused{code, fmt.Sprintf(format, args...)}
}

// codeOf returns the code of a refusal; UNKNOWN for any other error, and for nil.
func codeOf(err error) rosterpb.Refusal_Code {
	if errors.Is(err, connlimit.ErrBusy) {
		return rosterpb.Refusal_BUSY
	}
	if r, ok := errors.AsType[*refused](err); ok {
		return r.code
	}
	return rosterpb.Refusal_UNKNOWN
}

// refusalOf returns what an agent is told of an error.
func refusalOf(err error) *rosterpb.Refusal {
	return &rosterpb.Refusal{Code: codeOf(err), Text: err.Error()}
}

// refusalError returns what a manager has told; nil if it has refused nothing.
func refusalError(r *rosterpb.Refusal) error {
	if r == nil {
		return nil
	}
	return &refused{r.GetCode(), r.GetText()}
}
