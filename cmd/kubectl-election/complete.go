package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podesta-dev/podesta/internal/display"
)

// completionTime is how long a shell waits for names.
const completionTime = 3 * time.Second

// offers completes with what names finds in the cluster. A shell has no place for errors: without
// an answer, it offers nothing.
func offers(in surroundings, at *cluster, names func(ctx context.Context, kube groupClient,
	namespace string, args []string) []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		kube, namespace, err := in.connect(at)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		return names(ctx, kube, namespace, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// groupNames completes the first argument of a command with the groups of the namespace.
func groupNames(in surroundings, at *cluster) cobra.CompletionFunc {
	return offers(in, at, func(ctx context.Context, kube groupClient, namespace string,
		args []string) (names []cobra.Completion) {
		if len(args) > 0 {
			return nil
		}
		groups, _, err := readGroups(ctx, kube, reading{namespace: namespace})
		if err != nil {
			return nil
		}
		for _, g := range groups {
			names = append(names, display.Printable(g.Name, 253))
		}
		return names
	})
}

// candidateNames completes a flag with the processes that could coordinate the group which the line
// names, besides the one that does.
func candidateNames(in surroundings, at *cluster) cobra.CompletionFunc {
	return offers(in, at, func(ctx context.Context, kube groupClient, namespace string,
		args []string) (names []cobra.Completion) {
		if len(args) == 0 {
			return nil
		}
		group, err := kube.get(ctx, types.NamespacedName{Namespace: namespace, Name: groupName(args[0])})
		if err != nil {
			return nil
		}
		shown := display.Of(group, in.now())
		for _, p := range shown.Processes {
			if p.Standing == display.StandingCandidate &&
				(shown.Coordinator == nil || p.Name != shown.Coordinator.Name) {
				names = append(names, p.Name)
			}
		}
		return names
	})
}

// completeFormats completes -o.
func completeFormats(c *cobra.Command, formats ...cobra.Completion) {
	complete := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // there is no such flag
	}
}
