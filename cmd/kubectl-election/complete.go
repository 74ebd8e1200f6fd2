package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podesta-dev/podesta/internal/view"
)

// completionTime is how long a shell waits for names.
const completionTime = 3 * time.Second

// groupNames completes the first argument of a command with the groups of the namespace. A shell has
// no place for errors: without an answer, it offers nothing.
func groupNames(in surroundings, at *cluster) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kube, namespace, err := in.connect(at)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		groups, _, err := readGroups(ctx, kube, reading{namespace: namespace})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]cobra.Completion, 0, len(groups))
		for _, g := range groups {
			names = append(names, view.Printable(g.Name, 253))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// candidateNames completes a flag with the processes that could coordinate the group which the line
// names, besides the one that does.
func candidateNames(in surroundings, at *cluster) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		kube, namespace, err := in.connect(at)
		if err != nil || len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		group, err := kube.get(ctx, types.NamespacedName{Namespace: namespace, Name: args[0]})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		shown := view.Of(group, in.now())
		for _, p := range shown.Processes {
			if p.Standing == view.StandingCandidate && (shown.Coordinator == nil ||
				p.Name != shown.Coordinator.Name) {
				names = append(names, p.Name)
			}
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
