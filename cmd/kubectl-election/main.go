// Command kubectl-election is the plugin behind `kubectl election`. On the PATH, kubectl finds it by its name; it runs
// by itself, too.
//
//	kubectl election simulate    plays an election on this machine; needs no cluster
//	kubectl election forget      lets a group go on without voters that are gone for good
//	kubectl election inject      puts the agent into the pods of a manifest
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

// newCommand is the root: everything else hangs below it.
func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-election",
		Short:         "Study and run elections of a coordinator",
		Long:          "Study and run elections of a coordinator among the processes of a group.",
		Version:       version,
		SilenceErrors: true, // main prints them once
		SilenceUsage:  true, // an error says what would be right; the usage would hide it
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl election"},
	}
	root.SetVersionTemplate("kubectl election {{.Version}}\n")
	root.AddCommand(newSimulateCommand(), newForgetCommand(), newInjectCommand())
	return root
}
