package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const forgetLong = `Confirm that voters of a group have stopped, so that it can continue without
them.

A Guarded group that has lost a majority of its voters stops, and its condition Stalled is True
with reason MajorityLost. It waits until the pods come back or their certificates expire, which
takes 30 hours. If you know that the lost voters are no longer running, this command ends the wait.
Without pod names, it applies to all voters that do not report to the manager, also those whose
pods came back with other state directories.

The request applies to the roster that the command shows, and only to voters that are not connected
to the manager. It is refused for a voter whose pod runs on a node that is Ready: delete that pod
instead, which is safe. --although-they-run has the command go on to its question all the same.

You need permission to get and patch the group, to list its pods and to get their nodes, and the
verb forget on electiongroups: the ClusterRole admin has all of them but that for nodes, edit lacks
the verb, too. A pod whose node you may not read counts as one that runs.`

const forgetExamples = `  # Show the lost voters; nothing changes before you type the group's name
  kubectl election forget scheduler -n shop

  # Forget these two voters without asking for confirmation
  kubectl election forget scheduler scheduler-1 scheduler-2 -n shop --yes`

// newForgetCommand returns the command that lets a group continue without a majority that is lost.
func newForgetCommand(in surroundings, at *cluster) *cobra.Command {
	var ask func(group string) error
	var although bool
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
			o, err := in.operate(c, at, args[0], ask)
			if err != nil {
				return err
			}
			return forget(c.Context(), o, args[1:], although)
		},
	}
	command.Flags().BoolVar(&although, "although-they-run", false,
		"forget voters whose pods run on a node that is Ready, as well")
	ask = confirmation(command)
	command.ValidArgsFunction = groupNames(in, at)
	return command
}

// forget shows the plan, asks for confirmation, and makes the request. It refuses a plan with pods
// that run, or that cannot be listed, unless it is to go on although they run.
func forget(ctx context.Context, o operation, named []string, although bool) error {
	group, err := o.group(ctx)
	if err != nil {
		return err
	}
	plan, err := newForgetPlan(group, named)
	if err != nil {
		return err
	}
	err = plan.findPods(ctx, o)
	if err == nil {
		err = plan.mayRun(o.key.Namespace)
	}
	if err != nil && !although {
		return err
	}
	if err := plan.explain(o.out, o.now()); err != nil {
		return err
	}
	if err := o.confirm(group.Name); err != nil {
		return err
	}
	r := request{o, v1.ForgetAnnotation, forgetRight, "the roster changes"}
	if err := r.make(ctx, group.UID, plan.request); err != nil {
		return err
	}
	err = r.await(ctx, answerWithin, plan.answer)
	switch {
	case errors.Is(err, errNoAnswer):
		return r.notDone("the manager has not recorded the request within %v: check that the manager "+
			"runs, and that none of these voters is connected to it", answerWithin)
	case err != nil:
		return err
	}
	fmt.Fprintf(o.out, "The manager has recorded the request. It removes these voters after one "+
		"lease; watch it with: kubectl get eg %s -n %s -w\n", o.key.Name, o.key.Namespace)
	return nil
}
