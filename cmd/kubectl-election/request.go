package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// An operator's request to the manager is an annotation of the group. It is made when the user has
// confirmed it, and the command waits until the group's status shows that it was taken up.

// answerWithin is how long a command waits for the manager to take up a request.
const answerWithin = 15 * time.Second

// request is what an operator asks of the manager.
type request struct {
	operation
	annotation string
	needs      right
	until      string // what ends it, unless the manager answers
}

// right is what a request needs beside the right to patch the group.
type right struct{ verb, roles string }

var (
	forgetRight   = right{"forget", "whose ClusterRole admin has both"}
	stepDownRight = right{"step-down", "whose ClusterRole admin has both, as edit has"}
)

// make sets the annotation of this very group object to a value, in JSON.
func (r request) make(ctx context.Context, uid types.UID, asked any) error {
	value, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid,
		"annotations": map[string]string{r.annotation: string(value)}}})
	if err != nil {
		return err
	}
	defer waiting(r.notes, "waiting for the API server")()
	if err := r.kube.patch(ctx, r.key, patch); err != nil {
		return r.refused(err)
	}
	return nil
}

// refused returns why a request was not made, or is not known to have been made.
func (r request) refused(err error) error {
	said := display.Printable(err.Error(), 1000)
	look := fmt.Sprintf("The request may have been made (to look: kubectl get eg %s -n %s -o yaml; "+
		"to take it back: %s)", r.key.Name, r.key.Namespace, r.takeBack())
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{exitInterrupted, "interrupted. " + look, err}
	case apierrors.IsForbidden(err):
		return &failure{exitForbidden, fmt.Sprintf("you may not decide that for group %s: it needs the "+
			"verbs patch and %s on electiongroups.podesta.dev in namespace %s (to see what you have: "+
			"kubectl auth can-i %s electiongroups.podesta.dev -n %s); ask an administrator of the "+
			"namespace, %s: %s", r.key, r.needs.verb, r.key.Namespace, r.needs.verb, r.key.Namespace,
			r.needs.roles, said), err}
	case apierrors.IsConflict(err) || changesUID(err):
		return refusal("group %s was deleted since it was shown, and made again. Nothing was changed; "+
			"run the command again", r.key)
	case unreachable(err):
		return &failure{exitUnreachable, "the API server has not answered: " + said + ". " + look, err}
	case apierrors.IsNotFound(err) || apierrors.IsUnauthorized(err) || meta.IsNoMatchError(err):
		return reading{
			verb:      "patch",
			namespace: r.key.Namespace,
			name:      r.key.Name,
		}.failed(err)
	default:
		return fmt.Errorf("annotate group %s: %w", r.key, err)
	}
}

// changesUID reports whether the API server refuses a change because another object has the name.
func changesUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

// takeBack is the command that takes the request back.
func (r request) takeBack() string {
	return fmt.Sprintf("kubectl annotate eg %s -n %s %s-", r.key.Name, r.key.Namespace, r.annotation)
}

// stands says of a request that it was made, and how it ends.
func (r request) stands() string {
	return fmt.Sprintf("the request stands until %s (to take it back: %s)", r.until, r.takeBack())
}

// notDone returns that the manager has not done in time what was asked for.
func (r request) notDone(format string, args ...any) error {
	return &failure{exitNotDone, fmt.Sprintf(format, args...) + "; " + r.stands(), errNoAnswer}
}

// unseen returns an error that says why the manager's answer is not seen, and that the request
// stands all the same.
func (r request) unseen(err error) error {
	switch {
	case errors.Is(err, errNoAnswer):
		return err
	case errors.Is(err, context.Canceled):
		return &failure{exitInterrupted, "interrupted after the request was made; " + r.stands(), err}
	default:
		return &failure{exitCode(err), fmt.Sprintf("the request was made, and what becomes of it cannot "+
			"be seen: %v; %s", err, r.stands()), err}
	}
}

// errNoAnswer means that the manager has not done in time what was asked for.
var errNoAnswer = errors.New("nothing has happened in time")

// askEvery is how often the group is read meanwhile.
const askEvery = 250 * time.Millisecond

// await waits until answered says that the manager has taken up a request, or that it cannot. The
// error is errNoAnswer, or that of the last reading, if the time is over.
func (r request) await(ctx context.Context, within time.Duration,
	answered func(*v1.ElectionGroup) (bool, error)) error {
	defer waiting(r.notes, "waiting up to %v for the manager", within)()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	which := reading{verb: "get", namespace: r.key.Namespace, name: r.key.Name}
	var failed error // the last reading
	ask := func(ctx context.Context) (bool, error) {
		group := &v1.ElectionGroup{}
		err := r.kube.get(ctx, groupsResource, r.key, group)
		if err == nil {
			failed = nil
			return answered(group)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if failed = which.failed(err); lasting(failed) {
			return false, r.unseen(failed)
		}
		return false, nil
	}
	err := wait.PollUntilContextCancel(limited, askEvery, true, ask)
	if wait.Interrupted(err) {
		return r.unseen(cmp.Or(ctx.Err(), failed, errNoAnswer)) // ctx: the user has interrupted
	}
	return err
}
