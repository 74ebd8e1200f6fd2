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

const adoptLong = `Say which roster of a group counts after its status was set back.

If a backup is restored, or the status is wiped, while no manager runs, the next manager finds
an older roster in the status than the agents use, or none. It changes nothing then. Usually it
adopts the newest roster that agents hold within seconds. If it cannot, because no majority of
that roster's voters reports, the group's condition Stalled is True with reason StatusSetBack,
and this command decides.

Without --status, the newest roster counts that an agent has shown the manager, and that a
manager signed. With --status, the one in the status counts, and what the agents use is given
up.

The decision holds until agents report a newer generation than the command shows. You need
permission to get and patch the group, and the verb forget on electiongroups: the ClusterRole
admin has all of them.`

const adoptExamples = `  # Adopt the newest roster that agents hold; you are asked to confirm it
  kubectl election adopt scheduler -n shop

  # Go on with the roster in the status
  kubectl election adopt scheduler -n shop --status`

// newAdoptCommand returns the command that ends a group's standstill after its status was set back.
func newAdoptCommand(in surroundings, at *cluster) *cobra.Command {
	var status bool
	var ask func(group string) error
	command := &cobra.Command{
		Use:     "adopt GROUP",
		Short:   "Say which roster counts after a group's status was set back",
		Long:    adoptLong,
		Example: adoptExamples,
		Args:    oneGroup,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := in.operate(c, at, args[0], ask)
			if err != nil {
				return err
			}
			return adopt(c.Context(), o, status)
		},
	}
	ask = confirmation(command)
	command.Flags().BoolVar(&status, "status", false, "the roster in the status counts")
	command.ValidArgsFunction = groupNames(in, at)
	return command
}

// adopt shows what would count, asks for confirmation, and makes the request.
func adopt(ctx context.Context, o operation, status bool) error {
	group, err := o.group(ctx)
	if err != nil {
		return err
	}
	asked, err := adoptionOf(group, status)
	if err != nil {
		return err
	}
	explainAdoption(o.out, group, asked)
	if err := o.confirm(group.Name); err != nil {
		return err
	}
	if err := stillAsShown(ctx, o, status, asked); err != nil {
		return err
	}
	r := request{o, v1.AdoptAnnotation, forgetRight, "agents report a newer generation"}
	if err := r.make(ctx, group.UID, asked); err != nil {
		return err
	}
	made := int64(0) // the generation of the new roster
	err = r.await(ctx, answerWithin, func(g *v1.ElectionGroup) (done bool, err error) {
		if g.Status.Roster != nil {
			made = g.Status.Roster.Generation
		}
		return adopted(g, group.UID, status, asked)
	})
	switch {
	case errors.Is(err, errNoAnswer):
		return r.notDone("the manager has not made a roster within %v: check that it runs", answerWithin)
	case err != nil:
		return err
	}
	fmt.Fprintf(o.out, "The status of group %s is no longer set back. Its roster is of generation "+
		"%d.\n", group.Name, made)
	return nil
}

// stillAsShown returns an error if the request would be another one by now. A person has thought
// about it meanwhile.
func stillAsShown(ctx context.Context, o operation, status bool, asked v1.AdoptRequest) error {
	group, err := o.fetch(ctx)
	if err != nil {
		return err
	}
	now, err := adoptionOf(group, status)
	if err != nil {
		return err
	}
	if now != asked {
		return refusal("what agents show of group %s has changed since you saw it. Nothing was changed; "+
			"run the command again", group.Name)
	}
	return nil
}

// adopted reports whether the status is not set back any more. It returns an error if the request
// cannot be fulfilled any more.
func adopted(g *v1.ElectionGroup, uid types.UID, status bool, asked v1.AdoptRequest) (bool, error) {
	b := g.Status.SetBack
	switch {
	case g.UID != uid:
		return false, refusal("group %s was deleted", g.Name)
	case b == nil:
		return true, nil
	case b.Newest > asked.Newest, !status && b.Held != asked.Generation:
		return false, refusal("agents report generation %d by now, and show the roster of "+
			"generation %d: run the command again", b.Newest, b.Held)
	default:
		return false, nil
	}
}

// adoptionOf returns the request for a group that is as described, or why there is none to make.
func adoptionOf(g *v1.ElectionGroup, status bool) (v1.AdoptRequest, error) {
	b := g.Status.SetBack
	if b == nil {
		return v1.AdoptRequest{}, refusal("the status of group %s was not set back: there is "+
			"nothing to adopt", g.Name)
	}
	r := v1.AdoptRequest{Generation: b.Held, Newest: b.Newest}
	if status {
		r.Generation = 0
		if g.Status.Roster != nil {
			r.Generation = g.Status.Roster.Generation
		}
		return r, nil
	}
	if b.Held == 0 {
		return v1.AdoptRequest{}, refusal("no agent of group %s has shown the manager a roster "+
			"that a manager signed: bring one back that has it, or use --status to go on with what "+
			"is in the status", g.Name)
	}
	return r, nil
}

const adoptRisk = `
The manager cannot tell whether this is the newest roster that there was. Continue only if you
are sure that no process runs that uses a newer one, not even on a machine that is merely cut
off from the network. If one does, two processes may act as the coordinator at the same time,
and then only resources that check epochs refuse the older one.
`

// explainAdoption writes what would count, and the risk of it.
func explainAdoption(out io.Writer, g *v1.ElectionGroup, r v1.AdoptRequest) {
	in := "no roster"
	if g.Status.Roster != nil {
		in = fmt.Sprintf("the roster of generation %d", g.Status.Roster.Generation)
	}
	counts := "what is in the status"
	if r.Generation != 0 && r.Generation == g.Status.SetBack.Held {
		counts = fmt.Sprintf("the roster of generation %d, which an agent has shown,", r.Generation)
	}
	fmt.Fprintf(out, "The status of group %s holds %s; agents report generation %d.\nFrom now on %s "+
		"counts.\n%s", g.Name, in, r.Newest, counts, adoptRisk)
}
