package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newVersionCommand returns the command that prints the version of this program. No field of a
// status, and no label, says which version the manager has.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "kubectl election %s\n", version)
			return err
		},
	}
}
