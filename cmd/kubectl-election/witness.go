package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/internal/membership"
)

const witnessLong = `Print the manifest of a witness for a Guarded group: a pod that votes and
never coordinates.

A majority of two voters is two, so a group of two replicas survives no failure. With a witness it
survives the loss of any one of the three. The manifest is a Deployment of one pod with the agent
and nothing else, for the group's namespace. It never runs on a node with another pod of the group:
a witness that fails together with a replica is of no use. So three nodes are needed.

The manifest is written to standard output, anything else to standard error. Classic groups have no
votes, so they are refused. See docs/guides/two-replicas.md.`

const witnessExamples = `  # Give a group of two replicas a witness
  kubectl election witness scheduler -n shop | kubectl apply -f -

  # In another zone than the replicas
  kubectl election witness scheduler -n shop --topology-key topology.kubernetes.io/zone`

// newWitnessCommand returns the command that prints a witness.
func newWitnessCommand(in surroundings, at *cluster) *cobra.Command {
	var of installation
	var topology string
	command := &cobra.Command{
		Use:     "witness GROUP",
		Short:   "Print a witness for a group of two replicas",
		Long:    witnessLong,
		Example: witnessExamples,
		Args:    oneGroup,
		RunE: func(c *cobra.Command, args []string) error {
			i, err := of.install()
			if err != nil {
				return err
			}
			group, err := in.group(c, at, args[0])
			if err != nil {
				return err
			}
			manifest, note, err := witness(group, in.now(), topology, i)
			if err != nil {
				return err
			}
			if note != "" {
				fmt.Fprintln(c.ErrOrStderr(), note)
			}
			_, err = c.OutOrStdout().Write(manifest)
			return err
		},
	}
	command.Flags().StringVar(&topology, "topology-key", inject.DefaultTopology,
		"`LABEL` of nodes: the witness runs where no other pod of the group has the same value of it")
	of.addFlags(command.Flags())
	command.ValidArgsFunction = groupNames(in, at)
	return command
}

// witness returns the manifest of a witness of a group, and what is to be said about it.
func witness(group *v1.ElectionGroup, now time.Time, topology string,
	i inject.Install) (manifest []byte, note string, err error) {
	shown := display.Of(group, now)
	if shown.Voters == nil {
		return nil, "", &failure{exitRefused, fmt.Sprintf("%s is a Classic group. It has no votes, so a "+
			"witness has no use there: in a Classic group the last process that runs coordinates. Only "+
			"a Guarded group needs a majority (spec.safety)", group.Name), nil}
	}
	manifest, err = inject.Witness(keyOf(group), topology, i)
	return manifest, gains(shown), err
}

// gains says that a group survives no more with a witness than without one, if that is so. One that
// has a witness gets the manifest of the one that it has.
func gains(g display.Group) string {
	n := g.Voters.Total
	if g.Voters.Witnesses > 0 || n%2 == 0 {
		return ""
	}
	survives := func(n int) int { return n - membership.Majority(n) }
	return fmt.Sprintf("note: %s has %d voters and can lose %d of them. With a witness it has %d "+
		"and can lose %d: a witness helps groups with an even number of voters",
		g.Name, n, survives(n), n+1, survives(n+1))
}
