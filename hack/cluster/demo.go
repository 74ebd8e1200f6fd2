package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/hack/cluster/demo"
	"github.com/podesta-dev/podesta/hack/cluster/local"
	"github.com/podesta-dev/podesta/hack/cluster/podrunner"
	"github.com/podesta-dev/podesta/test/port"
)

// managerUser is who the manager is in an installation: the demo gives it no more rights than
// config/rbac does.
const managerUser = "system:serviceaccount:podesta-system:podesta-manager"

// rosterService is where the sample pods look for the manager.
const rosterService = "podesta-roster.podesta-system.svc:9443"

// demoBackoff leaves time to look at a crashed process in the status; the same pod is killed
// several times.
var demoBackoff = podrunner.Backoff{
	First: 2 * time.Second,
	Max:   2 * time.Second,
	Reset: podrunner.DefaultBackoff.Reset,
}

func demoCommand() *cobra.Command {
	var repository, state string
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Elect, kill the coordinator and elect again, under each algorithm",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd, repository, state, keep)
		},
	}
	cmd.Flags().StringVar(&repository, "repository", ".",
		"root of the source tree, with bin/ and config/")
	cmd.Flags().StringVar(&state, "dir", "", "directory of the cluster (default a new one, removed "+
		"at the end)")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the cluster running until Ctrl-C")
	return cmd
}

// tidy removes the state of a run that went well. If it did not, the logs are of use.
func tidy(cmd *cobra.Command, state string, err error) error {
	if err == nil {
		return os.RemoveAll(state)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "cluster: the logs are in %s\n", state)
	return err
}

func runDemo(cmd *cobra.Command, repository, state string, keep bool) (err error) {
	begun := time.Now()
	if state == "" {
		if state, err = os.MkdirTemp("", "podesta-demo-"); err != nil {
			return err
		}
		defer func() { err = tidy(cmd, state, err) }()
	}
	cluster, err := startDemo(cmd, repository, state, say(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	out := cmd.OutOrStdout()
	if err := demo.Run(cmd.Context(), demo.Options{
		Repository: repository,
		Cluster:    cluster.Cluster,
		Out:        out,
	}); err != nil {
		return errors.Join(cluster.failure(), err)
	}
	fmt.Fprintf(out, "The demo took %.0f s.\n", time.Since(begun).Seconds())
	if !keep {
		return nil
	}
	demo.Hints(out, cluster.Cluster)
	select {
	case <-cmd.Context().Done():
		return nil
	case err := <-cluster.Failed():
		return err
	}
}

// demoCluster keeps the manager's port for as long as it runs.
type demoCluster struct {
	*local.Cluster

	roster *port.Kept
}

// failure returns why a part of the cluster has ended by itself, if one has. What was waited for
// may not have come because of that.
func (c *demoCluster) failure() error {
	select {
	case err := <-c.Failed():
		return err
	default:
		return nil
	}
}

func startDemo(
	cmd *cobra.Command, repository, state string, report func(string),
) (*demoCluster, error) {
	roster, err := port.Keep()
	if err != nil {
		return nil, err
	}
	o, err := demoOptions(repository, state, roster.Address)
	if err != nil {
		return nil, errors.Join(err, roster.Close())
	}
	o.Report, o.Assets.Log = report, cmd.ErrOrStderr()
	cluster, err := local.Start(cmd.Context(), o)
	if err != nil {
		return nil, errors.Join(err, roster.Close())
	}
	return &demoCluster{cluster, roster}, nil
}

func (c *demoCluster) Close() error { return errors.Join(c.Cluster.Close(), c.roster.Close()) }

// demoOptions runs what `make build` built, the manager with the rights of an installation.
func demoOptions(repository, state, address string) (local.Options, error) {
	in := func(path string) string { return filepath.Join(repository, path) }
	f := upFlags{agent: in("bin/agent"), resolve: []string{rosterService + "=" + address}}
	f.options = local.Options{
		State:     state,
		CRDs:      []string{in("config/crd/bases")},
		Manifests: []string{in("config/manager/namespace.yaml"), in("config/rbac")},
		Manager: local.Manager{
			Path: in("bin/manager"),
			Args: []string{"--roster-address=" + address, "--health-address=0"},
			User: managerUser,
		},
	}
	f.options.Pods.Backoff = demoBackoff
	return f.complete()
}
