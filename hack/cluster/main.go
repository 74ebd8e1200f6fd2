// Command cluster is the developer's local cluster: etcd, kube-apiserver, and pods as processes of
// this machine.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/process"
)

func main() {
	// The libraries' own logs repeat what this program says, or what its log files have.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	root := &cobra.Command{
		Use: "cluster",
		Short: "A local cluster without root, Docker and images: a real API server, and pods " +
			"as processes",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(assetsCommand(), upCommand(), demoCommand(), pauseCommand(),
		tetherCommand(), keepCommand())
	return root
}

func assetsCommand() *cobra.Command {
	var o assets.Options
	cmd := &cobra.Command{
		Use:   "assets",
		Short: "Print the directory with the control plane's programs, making what is missing first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, program := range o.Programs {
				if !slices.Contains(assets.All, program) {
					return fmt.Errorf("--programs %s: it must be of %s", program, strings.Join(assets.All, ", "))
				}
			}
			o.Log = cmd.ErrOrStderr()
			dir, err := assets.Dir(cmd.Context(), o)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			}
			return err
		},
	}
	cmd.Flags().StringSliceVar(&o.Programs, "programs", assets.All, "which of them are needed")
	cmd.Flags().StringVar(&o.Cache, "dir", "", "cache to look in and to fill (default "+
		"${XDG_CACHE_HOME:-~/.cache}/podesta/assets)")
	return cmd
}

// pauseCommand stands for the image of that name: a process that does nothing but end when it is
// asked to.
func pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "pause",
		Short:              "Wait for a signal",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			<-cmd.Context().Done()
			return nil
		},
	}
}

// tetherCommand becomes the program it is given, and dies with the program that started it.
func tetherCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "tether PARENT PROGRAM [ARG…]",
		Short:              "Become a program that ends with its parent",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return process.Tether(args) },
	}
}

// keepCommand starts a program again whenever it ends.
func keepCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "keep PATH PROGRAM [ARG…]",
		Short:              "Keep a program running, with PATH.log and PATH.pid",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return process.Keep(cmd.Context(), args)
		},
	}
}

// say prints a sentence of progress.
func say(out io.Writer) func(string) {
	return func(sentence string) { _, _ = fmt.Fprintln(out, "cluster: "+sentence) }
}
