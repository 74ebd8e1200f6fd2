package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/internal/display"
)

// completionTime is how long a shell waits for names.
const completionTime = 3 * time.Second

// groupNames completes the first argument of a command with the groups of the namespace. A shell
// has no place for errors: without an answer, it offers nothing.
func groupNames(in surroundings, at *cluster) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (names []cobra.Completion,
		_ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kube, namespace, err := in.connect(at)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		groups, _, _ := readGroups(ctx, kube, reading{namespace: namespace}, io.Discard)
		for _, g := range groups {
			names = append(names, display.Printable(g.Name, 253))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFormats completes -o.
func completeFormats(c *cobra.Command, formats ...cobra.Completion) {
	complete := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // there is no such flag
	}
}
