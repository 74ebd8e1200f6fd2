package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/backoff"
)

// An operator's request to the manager is an annotation of the group. It is made when the user has
// confirmed it, and the command waits until the group's status shows that it was taken up.

// answerWithin is how long a command waits for the manager to take up a request.
const answerWithin = 15 * time.Second

// annotate sets an annotation of this very group object.
func annotate(ctx context.Context, kube groupClient, group *v1.ElectionGroup,
	name, value string, needs right) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": group.UID,
		"annotations": map[string]string{name: value}}})
	if err != nil {
		return err
	}
	key := keyOf(group)
	if err := kube.patch(ctx, key, patch); err != nil {
		return annotateError(key, needs, err)
	}
	return nil
}

// right is what a request needs beside the right to patch the group.
type right struct{ verb, roles string }

var (
	forgetRight   = right{"forget", "whose ClusterRole admin has both"}
	stepDownRight = right{"step-down", "whose ClusterRole admin has both, as edit has"}
)

// annotateError says which right is missing, if one is.
func annotateError(key types.NamespacedName, needs right, err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("annotate group %s: %w", key, err)
	}
	return &failure{exitForbidden, fmt.Sprintf("you may not decide that for group %s: it needs the "+
		"verbs patch and %s on electiongroups.podesta.dev in namespace %s (to see what you have: "+
		"kubectl auth can-i %s electiongroups.podesta.dev -n %s); ask an administrator of the "+
		"namespace, %s: %v", key, needs.verb, key.Namespace, needs.verb, key.Namespace, needs.roles,
		err), err}
}

// errNoAnswer means that the manager has not done in time what was asked for.
var errNoAnswer = errors.New("nothing has happened in time")

// awaitGroup waits until answered says that the manager has taken up a request, or that it cannot.
// A watch that ends, or does not begin for a reason that may pass, begins again. The error is
// errNoAnswer, or that of the last watch, if the time is over.
func awaitGroup(ctx context.Context, kube groupClient, key types.NamespacedName,
	within time.Duration, answered func(*v1.ElectionGroup) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for failures := 1; ; failures++ {
		done, err := watchGroup(limited, kube, key, answered)
		if done || err != nil && lasting(err) {
			return err
		}
		select {
		case <-limited.Done():
		case <-time.After(backoff.Wait(firstPause, lastPause, failures)):
			continue
		}
		return cmp.Or(ctx.Err(), err, errNoAnswer) // ctx: the user has interrupted
	}
}

// watchGroup watches a group until it is answered, with an error or without, or the watch ends.
func watchGroup(ctx context.Context, kube groupClient, key types.NamespacedName,
	answered func(*v1.ElectionGroup) (bool, error)) (done bool, err error) {
	which := reading{
		verb:      "watch",
		namespace: key.Namespace,
		name:      key.Name,
	}
	watch, err := kube.watch(ctx, which, "")
	if err != nil {
		if ctx.Err() != nil {
			return false, nil // it was not this one's fault
		}
		return false, which.failed(err)
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		group, ok := e.Object.(*v1.ElectionGroup)
		if !ok {
			continue // the API server ends the watch, and says why
		}
		if done, err := answered(group); done || err != nil {
			return true, err
		}
	}
	return false, nil
}

// confirmation adds the flag --yes to a command. It returns the question that the command asks
// before it changes anything.
func confirmation(c *cobra.Command) (ask func(group string) error) {
	yes := c.Flags().Bool("yes", false, "do not ask for confirmation")
	return func(group string) error {
		if *yes {
			return nil
		}
		return confirm(c.Context(), c.InOrStdin(), c.OutOrStdout(), group)
	}
}

// confirm asks the user to type the group's name. If ctx ends, the answer does not count: the
// terminal is read until there is one, or the program ends.
func confirm(ctx context.Context, in io.Reader, out io.Writer, group string) error {
	fmt.Fprintf(out, "\nType the group's name to continue: ")
	answered := make(chan error, 1)
	go func() { answered <- named(in, group) }()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		fmt.Fprintln(out)
		return ctx.Err()
	}
}

// named reads a line, and returns an error if it is not the group's name.
func named(in io.Reader, group string) error {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != group {
		return errors.New("canceled, nothing was changed: the input is not the group's name")
	}
	return nil
}
