// Command kubectl-election is the kubectl plugin `kubectl election`. kubectl finds it on the PATH
// by its name; it can also be run directly.
//
//	kubectl election simulate    simulates an election on this machine; needs no cluster
//	kubectl election forget      lets a group continue without voters that are lost for good
//	kubectl election adopt       says which roster counts after a group's status was set back
//	kubectl election inject      adds the agent to the pods of a manifest
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubectl election:", err)
		os.Exit(1)
	}
}

// newCommand returns the root command with all subcommands.
func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-election",
		Short: "Simulate elections and operate election groups",
		Long: "Simulate elections on this machine, and operate the election groups of a " +
			"cluster.",
		Version:       version,
		SilenceErrors: true, // main prints them once
		SilenceUsage:  true, // errors say what to do; the usage text would hide that
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl election"},
	}
	root.SetVersionTemplate("kubectl election {{.Version}}\n")
	root.AddCommand(newSimulateCommand(), newForgetCommand(), newAdoptCommand(), newInjectCommand())
	return root
}
