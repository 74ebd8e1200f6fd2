package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/hack/cluster/demo"
)

func demoCommand() *cobra.Command {
	f := &flags{}
	// It leaves time to look at a crashed process in the status.
	f.options.Pods.RestartDelay = 2 * time.Second
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Elect, kill the coordinator and elect again, under each algorithm",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.demo(cmd, keep) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running until Ctrl-C")
	return cmd
}

func (f *flags) demo(cmd *cobra.Command, keep bool) (err error) {
	begun := time.Now()
	if f.options.State == "" {
		if f.options.State, err = os.MkdirTemp("", "podesta-demo-"); err != nil {
			return err
		}
		defer func() { err = tidy(cmd, f.options.State, err) }()
	}
	running, err := f.start(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	out := cmd.OutOrStdout()
	if err := demo.Run(cmd.Context(), demo.Options{
		Repository: f.root,
		Cluster:    running.Cluster,
		Out:        out,
	}); err != nil {
		return errors.Join(running.failure(), err)
	}
	fmt.Fprintf(out, "The demo took %.0f s.\n", time.Since(begun).Seconds())
	if !keep {
		fmt.Fprintf(out, "To look at it with kubectl election, which is in %s: make demo KEEP=1\n",
			f.programs())
		return nil
	}
	demo.Hints(out, running.Shell(f.programs()))
	select {
	case <-cmd.Context().Done():
		return nil
	case err := <-running.Failed():
		return err
	}
}

// tidy removes the state of a run that went well. If it did not, the logs are of use.
func tidy(cmd *cobra.Command, state string, err error) error {
	if err == nil {
		return os.RemoveAll(state)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "cluster: the logs are in %s\n", state)
	return err
}

// failure returns why a part of the cluster has ended by itself, if one has. What was waited for
// may not have come because of that.
func (c *cluster) failure() error {
	select {
	case err := <-c.Failed():
		return err
	default:
		return nil
	}
}
