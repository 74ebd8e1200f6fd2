package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd/api"

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
		groups, _, err := readGroups(ctx, kube, reading{namespace: namespace}, io.Discard)
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

// groupAndVoters completes the first argument of a command with the groups of the namespace, and
// the others with the voters of that group which do not report to the manager.
func groupAndVoters(in surroundings, at *cluster) cobra.CompletionFunc {
	groups := groupNames(in, at)
	voters := offers(in, at, func(ctx context.Context, kube groupClient, namespace string,
		args []string) (names []cobra.Completion) {
		key := types.NamespacedName{Namespace: namespace, Name: groupName(args[0])}
		group, err := kube.get(ctx, key)
		if err != nil {
			return nil
		}
		plan, err := newForgetPlan(group, nil)
		if err != nil {
			return nil
		}
		for _, m := range plan.forgotten {
			if !slices.Contains(args[1:], m.Name) {
				names = append(names, display.Printable(m.Name, 253))
			}
		}
		return names
	})
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		if len(args) == 0 {
			return groups(c, args, begun)
		}
		return voters(c, args, begun)
	}
}

// complete completes the flags that locate the cluster: by the kubeconfig, and the namespace by
// what the cluster has.
func (c *cluster) complete(in surroundings, command *cobra.Command) {
	for flag, names := range map[string]func(api.Config) []string{
		"context": func(k api.Config) []string { return slices.Collect(maps.Keys(k.Contexts)) },
		"cluster": func(k api.Config) []string { return slices.Collect(maps.Keys(k.Clusters)) },
		"user":    func(k api.Config) []string { return slices.Collect(maps.Keys(k.AuthInfos)) },
	} {
		completeFlag(command, flag, func(context.Context) []string {
			config, err := c.loading().RawConfig()
			if err != nil {
				return nil
			}
			return names(config)
		})
	}
	completeFlag(command, "namespace", func(ctx context.Context) (names []string) {
		i, err := in.inspect(c)
		if err != nil {
			return nil
		}
		all := readList[corev1.Namespace](ctx, i.kube, listed{
			what:     "namespaces",
			resource: namespacesResource,
		}, &corev1.NamespaceList{})
		for j := range all.Value {
			names = append(names, all.Value[j].Name)
		}
		return names
	})
}

// completeFlag completes a flag with names, which are sorted.
func completeFlag(command *cobra.Command, flag string, names func(context.Context) []string) {
	err := command.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) (
		[]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		var offered []cobra.Completion
		for _, name := range slices.Sorted(slices.Values(names(ctx))) {
			offered = append(offered, display.Printable(name, 253))
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // there is no such flag
	}
}

// completeFormats completes -o.
func completeFormats(c *cobra.Command, formats ...cobra.Completion) {
	complete := cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("output", complete); err != nil {
		panic(err) // there is no such flag
	}
}
