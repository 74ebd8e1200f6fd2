package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const forgetLong = `Confirm that voters of a group have stopped, so that it can continue without
them.

A Guarded group that has lost a majority of its voters stops, and its condition Stalled is True
with reason MajorityLost. It waits until the pods come back or their certificates expire, which
takes 30 hours. If you know that the lost voters are no longer running, this command ends the wait.
Without pod names, it applies to all voters that do not report to the manager.

The request applies to the roster that the command shows, and only to voters that are not connected
to the manager. You need permission to patch the group, and the verb forget on electiongroups: the
ClusterRole admin has both, edit has not.`

const forgetExamples = `  # Show the lost voters; nothing changes before you type the group's name
  kubectl election forget scheduler -n shop

  # Forget these two voters without asking for confirmation
  kubectl election forget scheduler scheduler-1 scheduler-2 -n shop --yes`

// newForgetCommand returns the command that lets a group continue without a majority that is lost.
func newForgetCommand(in surroundings) *cobra.Command {
	var at cluster
	var ask func(group string) error
	command := &cobra.Command{
		Use:     "forget GROUP [POD...]",
		Short:   "Let a group continue without voters that are lost for good",
		Long:    forgetLong,
		Example: forgetExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no group given: kubectl election forget GROUP [POD...]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			kube, namespace, err := in.connect(&at)
			if err != nil {
				return err
			}
			key := types.NamespacedName{Namespace: namespace, Name: groupName(args[0])}
			return forget(c.Context(), in, kube, key, args[1:], c.OutOrStdout(), ask)
		},
	}
	ask = confirmation(command)
	at.addFlags(command.Flags())
	command.ValidArgsFunction = groupNames(in, &at)
	return command
}

// forget shows the plan, asks for confirmation, and makes the request.
func forget(
	ctx context.Context,
	in surroundings,
	kube groupClient,
	key types.NamespacedName,
	named []string,
	out io.Writer,
	ask func(group string) error,
) error {
	group, err := kube.get(ctx, key)
	if err != nil {
		return reading{
			verb:      "get",
			namespace: key.Namespace,
			name:      key.Name,
		}.failed(err)
	}
	plan, err := newForgetPlan(group, named)
	if err != nil {
		return err
	}
	if err := plan.explain(out, in.now()); err != nil {
		return err
	}
	if err := ask(group.Name); err != nil {
		return err
	}
	value, err := plan.annotation()
	if err != nil {
		return err
	}
	if err := annotate(ctx, kube, group, v1.ForgetAnnotation, value, forgetRight); err != nil {
		return err
	}
	if err := plan.await(ctx, kube, key); err != nil {
		return err
	}
	fmt.Fprintln(
		out,
		"The manager has recorded the request. It removes these voters after one lease; watch it "+
			"with: kubectl get eg "+key.Name+" -n "+key.Namespace+" -w",
	)
	return nil
}

// await returns nil once the roster has recorded the plan.
func (p forgetPlan) await(
	ctx context.Context,
	kube groupClient,
	key types.NamespacedName,
) error {
	err := awaitGroup(ctx, kube, key, answerWithin, p.answer)
	if !errors.Is(err, errNoAnswer) {
		return err
	}
	return fmt.Errorf(
		"the manager has not recorded the request within %v: check that the manager runs, and "+
			"that none of these voters is connected to it; "+
			"the request stays valid until the roster changes (to take it back: kubectl annotate "+
			"eg %s -n %s %s-)",
		answerWithin,
		key.Name,
		key.Namespace,
		v1.ForgetAnnotation,
	)
}
