package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/internal/display"
	"github.com/podesta-dev/podesta/internal/display/text"
)

const explainLong = `Explain why a process coordinates a group: its rank, who follows it, and why
those that rank higher do not coordinate. Say who would be next if it died now, for about how long
nobody would coordinate, and what is not certain about that. If nobody coordinates, say why, and
what to do.

The explanation comes from the group's spec and status: from what the manager published last. While
no manager leads, the first line says so, the agents are asked, and the command ends with code 11.`

const explainExamples = `  # Why this one?
  kubectl election explain scheduler -n shop`

// newExplainCommand returns the command that explains who coordinates a group.
func newExplainCommand(in surroundings, at *cluster) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:     "explain GROUP",
		Short:   "Explain why a process coordinates, and who would be next",
		Long:    explainLong,
		Example: explainExamples,
		Args: func(c *cobra.Command, args []string) error {
			return cmp.Or(oneGroup(c, args), checkFormat(output, "json", "yaml"))
		},
		RunE: func(c *cobra.Command, args []string) error {
			o, err := in.operate(c, at, args[0], nil)
			if err != nil {
				return err
			}
			group, current, err := o.read(c.Context())
			if err != nil {
				return err
			}
			explanation := display.ExplainDated(group, in.now(), current)
			if isDocument(output) {
				err := writeDocument(c.OutOrStdout(), output, group.Name, explanation)
				return cmp.Or(err, stale(current))
			}
			s := shower{surroundings: in, out: c.OutOrStdout()}
			_, err = io.WriteString(c.OutOrStdout(), text.Explain(explanation, s.options()))
			return cmp.Or(err, stale(current))
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	command.ValidArgsFunction = groupNames(in, at)
	completeFormats(command, "json", "yaml")
	return command
}
