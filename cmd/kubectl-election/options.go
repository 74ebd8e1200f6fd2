package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newOptionsCommand returns the command that lists the flags of all commands, as kubectl has it.
func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags of all commands: which cluster, which namespace, as whom",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "The following flags can be passed to any command:\n\n%s",
				c.InheritedFlags().FlagUsages())
			return err
		},
	}
}

// usageTemplate returns cobra's template, but a hint in place of the flags of all commands.
func usageTemplate(template string) string {
	const hint = `

Use "{{.Root.CommandPath}} options" for the flags of all commands: which cluster, which namespace.`
	before, rest, _ := strings.Cut(template, "{{if .HasAvailableInheritedFlags}}")
	_, after, _ := strings.Cut(rest, "{{end}}")
	before = strings.Replace(before, "{{if .HasAvailableLocalFlags}}",
		"{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	return before + hint + after
}
