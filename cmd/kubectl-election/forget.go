package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// answerWithin is how long the manager has to record what it was asked for.
const answerWithin = 15 * time.Second

const forgetLong = `Answer for it that voters of a group have ended, so that the group can go on without them.

A Guarded group of which a majority is gone stands still, and says so: condition Stalled is True with reason MajorityLost. It
waits for the pods to come back, or for their certificates to end, which takes a day. If you know that they do not run any more,
you can end the wait. Without names, all voters that are out of the manager's sight are meant.

The request holds for the roster that you were shown, and only for voters that are not connected to the manager. It needs the
right to patch the group.`

const forgetExamples = `  # Which voters would be forgotten? Nothing is done before you have typed the group's name
  kubectl election forget scheduler -n shop

  # These two, without a question
  kubectl election forget scheduler scheduler-1 scheduler-2 -n shop --yes`

// newForgetCommand has a group that lost its majority go on without it.
func newForgetCommand() *cobra.Command {
	var at cluster
	var yes bool
	command := &cobra.Command{
		Use:     "forget GROUP [POD...]",
		Short:   "Let a group go on without voters that are gone for good",
		Long:    forgetLong,
		Example: forgetExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the group: kubectl election forget GROUP [POD...]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			kube, namespace, err := at.connect()
			if err != nil {
				return err
			}
			ask := func(group string) error { return confirm(c.InOrStdin(), c.OutOrStdout(), group) }
			if yes {
				ask = func(string) error { return nil }
			}
			return forget(c.Context(), kube, types.NamespacedName{Namespace: namespace, Name: args[0]}, args[1:], c.OutOrStdout(), ask)
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	at.addFlags(command.Flags())
	return command
}

// forget shows the plan, asks, and has the manager do it.
func forget(ctx context.Context, kube client.WithWatch, key types.NamespacedName, named []string, out io.Writer,
	ask func(group string) error) error {
	group := &v1.ElectionGroup{}
	if err := kube.Get(ctx, key, group); err != nil {
		return fmt.Errorf("read group %s: %w", key, err)
	}
	plan, err := newForgetPlan(group, named)
	if err != nil {
		return err
	}
	if err := plan.explain(out, time.Now()); err != nil {
		return err
	}
	if err := ask(group.Name); err != nil {
		return err
	}
	value, err := plan.annotation()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": group.UID,
		"annotations": map[string]string{v1.ForgetAnnotation: value}}})
	if err != nil {
		return err
	}
	if err := kube.Patch(ctx, group, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("annotate group %s: %w", key, err)
	}
	if err := plan.await(ctx, kube, key); err != nil {
		return err
	}
	fmt.Fprintln(out, "The manager has recorded it. They are removed from the voters when a lease has passed; see kubectl get eg "+key.Name)
	return nil
}

// await returns when the roster records the plan.
func (p forgetPlan) await(ctx context.Context, kube client.WithWatch, key types.NamespacedName) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	watch, err := kube.Watch(ctx, &v1.ElectionGroupList{}, client.InNamespace(key.Namespace),
		client.MatchingFields{"metadata.name": key.Name})
	if err != nil {
		return fmt.Errorf("watch group %s: %w", key, err)
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		group, ok := e.Object.(*v1.ElectionGroup)
		if !ok {
			continue
		}
		if done, err := p.answer(group); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("the manager has not recorded it within %v: see that it runs, and that none of them is connected to it; "+
		"the request stands until the roster changes (take it back: kubectl annotate eg %s -n %s %s-)", answerWithin, key.Name,
		key.Namespace, v1.ForgetAnnotation)
}

// confirm has the user type the group's name.
func confirm(in io.Reader, out io.Writer, group string) error {
	fmt.Fprintf(out, "\nType the group's name to go on: ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != group {
		return errors.New("nothing was done: that is not the group's name")
	}
	return nil
}
