package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

const stepDownLong = `Have the coordinator of a group hand over to another process, as planned.

The manager gives the coordinator priority 0 until another process coordinates, or for as long as
--for says. The others elect meanwhile, as they do when a coordinator leaves; in a Guarded group the
lease is released, so nobody waits for it to expire. With --to, that process ranks above all others
until the request ends. Then preemption decides as before: the command says what to expect.

The request applies to the roster, the coordinator and the epoch that the command shows. It is
refused if another process coordinates by then, or if no other process is a candidate. It ends early
if no other process coordinates for a lease and 5 s, so that maintenance leaves no group without a
coordinator; or if you take it back: kubectl annotate eg GROUP podesta.dev/step-down-

You need permission to get and patch the group, and the verb step-down on electiongroups: the
ClusterRoles admin and edit have all of them. Groups outside Kubernetes have no such request: edit
the priority in the roster file.`

const stepDownExamples = `  # Before a node is drained: hand over, and stay aside for ten minutes
  kubectl election step-down scheduler -n shop --for 10m

  # Hand over to this process, without asking, and wait until it coordinates
  kubectl election step-down scheduler -n shop --to scheduler-1 --for 1h --yes --wait`

// stepDownOptions are what a user asks for.
type stepDownOptions struct {
	to    string
	stays time.Duration // --for
	wait  bool
	id    func() string
}

// newStepDownCommand returns the command that has a coordinator hand over.
func newStepDownCommand(in surroundings, at *cluster) *cobra.Command {
	var ask func(group string) error
	asked := stepDownOptions{id: in.id}
	command := &cobra.Command{
		Use:     "step-down GROUP",
		Short:   "Have the coordinator of a group hand over to another process",
		Long:    stepDownLong,
		Example: stepDownExamples,
		Args: func(c *cobra.Command, args []string) error {
			return cmp.Or(oneGroup(c, args), asked.check())
		},
		RunE: func(c *cobra.Command, args []string) error {
			o, err := in.operate(c, at, args[0], ask)
			if err != nil {
				return err
			}
			return stepDown(c.Context(), o, asked)
		},
	}
	ask = confirmation(command)
	flags := command.Flags()
	flags.StringVar(&asked.to, "to", "", "the process (pod) that is to coordinate instead; without "+
		"it the highest other candidate does")
	flags.DurationVar(&asked.stays, "for", 0, "for how long the coordinator stands aside, such as "+
		"10m; without it until another process coordinates")
	flags.BoolVar(&asked.wait, "wait", false, "wait until another process coordinates, and say which")
	command.ValidArgsFunction = groupNames(in, at)
	return command
}

// check returns what is wrong with the flags.
func (o *stepDownOptions) check() error {
	const most = 24 * time.Hour
	if o.stays != 0 && (o.stays < time.Second || o.stays > most || o.stays%time.Second != 0) {
		return fmt.Errorf("--for %v: give whole seconds, between 1s and %v", o.stays, most)
	}
	return nil
}

// stepDown shows the plan, asks for confirmation, makes the request, and waits for the manager's
// answer, and for the hand-over if it is to.
func stepDown(ctx context.Context, o operation, asked stepDownOptions) error {
	group, err := o.group(ctx)
	if err != nil {
		return err
	}
	plan, err := newStepDownPlan(group, asked, o.now())
	if err != nil {
		return err
	}
	fmt.Fprint(o.out, plan.explain())
	if err := o.confirm(group.Name); err != nil {
		return err
	}
	began := o.now()
	r := request{o, v1.StepDownAnnotation, stepDownRight, "the roster or the coordinator changes"}
	if err := r.make(ctx, group.UID, plan.request); err != nil {
		return err
	}
	record := &v1.StepDownStatus{}
	err = r.await(ctx, answerWithin, func(g *v1.ElectionGroup) (bool, error) {
		return plan.answer(g, record)
	})
	switch {
	case errors.Is(err, errNoAnswer):
		return r.notDone("the manager has not answered the request within %v: check that it runs, is "+
			"not older than this program, and knows who coordinates (kubectl election status %s)",
			answerWithin, plan.where())
	case err != nil:
		return err
	}
	fmt.Fprintf(o.out, "The manager has taken up the request: %s.\n", plan.stands(record))
	if !asked.wait {
		fmt.Fprintf(o.out, "See who coordinates with: kubectl election status %s\n", plan.where())
		return nil
	}
	r.until = plan.lasts(record)
	return plan.awaitHandOver(ctx, o, r, began)
}

// awaitHandOver waits until another process coordinates, and says which.
func (p *stepDownPlan) awaitHandOver(ctx context.Context, o operation, r request,
	began time.Time) error {
	var by *v1.CoordinatorStatus
	err := r.await(ctx, handOverWithin, func(g *v1.ElectionGroup) (bool, error) {
		by = g.Status.Coordinator
		return p.handedOver(g)
	})
	switch {
	case errors.Is(err, errNoAnswer) && p.over:
		return refusal("another process coordinated, and %s does again by now. To see why: kubectl "+
			"election explain %s", p.request.Process.Name, p.where())
	case errors.Is(err, errNoAnswer):
		return r.notDone("no other process coordinates after %v, as far as the manager knows",
			handOverWithin)
	case err != nil:
		return err
	}
	fmt.Fprint(o.out, p.result(by, o.now().Sub(began)))
	return nil
}

// handOverWithin is how long the command waits for another coordinator. The manager ends the
// request before that, unless the lease is long.
const handOverWithin = time.Minute
