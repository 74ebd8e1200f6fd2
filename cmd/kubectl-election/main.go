// Command kubectl-election is the kubectl plugin `kubectl election`. kubectl finds it on the PATH
// by its name; it can also be run directly.
//
//	kubectl election status      shows who coordinates, and what is wrong
//	kubectl election explain     explains why a process coordinates, and who would be next
//	kubectl election trace       shows what was said in an election, and what came of it
//	kubectl election check       checks whether Podesta can be installed, or works
//	kubectl election simulate    simulates an election on this machine; needs no cluster
//	kubectl election forget      lets a group continue without voters that are lost for good
//	kubectl election adopt       says which roster counts after a group's status was set back
//	kubectl election step-down   has the coordinator hand over to another process
//	kubectl election witness     prints a pod that votes and never coordinates, for two replicas
//	kubectl election inject      adds the agent to the pods of a manifest
//	kubectl election options     lists the flags of all commands
//	kubectl election version     prints the version of this program
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// version is set by the build.
var version = "development"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program as if it caught none
	err := newCommand(realSurroundings()).ExecuteContext(ctx)
	var f *failure
	switch {
	case err == nil:
		return
	case errors.As(err, &f) && f.code == exitInterrupted: // it says what goes on all the same
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		os.Exit(exitInterrupted)
	}
	fmt.Fprintln(os.Stderr, "kubectl election:", err)
	os.Exit(exitCode(err))
}

// newCommand returns the root command with all subcommands.
func newCommand(in surroundings) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-election",
		Short: "Look at election groups, operate them, and simulate elections",
		Long: "Look at the election groups of a cluster and operate them, and simulate elections on " +
			"this machine.",
		Version:       version,
		SilenceErrors: true, // main prints them once
		SilenceUsage:  true, // errors say what to do; the usage text would hide that
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl election"},
	}
	root.SetVersionTemplate("kubectl election {{.Version}}\n")
	at := &cluster{}
	at.addFlags(root.PersistentFlags())
	root.AddCommand(newStatusCommand(in, at), newExplainCommand(in, at), newTraceCommand(in, at),
		newCheckCommand(in, at), newSimulateCommand(), newForgetCommand(in, at), newAdoptCommand(in, at),
		newStepDownCommand(in, at), newWitnessCommand(in, at), newInjectCommand(), newVersionCommand(),
		newOptionsCommand())
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	verbosity(root.PersistentFlags())
	checkUsage(root)
	return root
}

// verbosity adds kubectl's -v, which has client-go say what it asks of the API server.
func verbosity(f *pflag.FlagSet) {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(all)
	v := all.Lookup("v")
	v.Usage = "how much to say on stderr of the requests to the API server: 6 names each, 8 shows them"
	f.AddGoFlag(v)
}

// checkUsage has wrong arguments of all subcommands end the program with exitUsage.
func checkUsage(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if check := c.Args; check != nil {
			c.Args = func(c *cobra.Command, args []string) error { return usage(check(c, args)) }
		}
		checkUsage(c)
	}
}
