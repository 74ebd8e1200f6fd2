package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/hack/cluster/local"
	"github.com/podesta-dev/podesta/hack/cluster/podrunner"
	"github.com/podesta-dev/podesta/test/port"
)

const (
	// agentImage is the repository, without its registry, of the agent's image.
	agentImage = "podesta-dev/agent"
	// managerUser is who the manager is in an installation: it has no more rights here than
	// config/rbac gives it.
	managerUser = "system:serviceaccount:podesta-system:podesta-manager"
	// rosterService is where the agents of the samples look for the manager.
	rosterService = "podesta-roster.podesta-system.svc:9443"
)

// flags say which cluster to run: one with Podesta, as `make build` built it in a source tree.
type flags struct {
	options         local.Options
	root            string // of the source tree
	bin             string // where manager and agent are; if empty, bin/ of the source tree
	roster          string // where the manager serves agents; if empty, a free port
	metrics         string // where the manager serves metrics; if empty, a free port
	images, resolve []string
}

func (f *flags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.root, "root", ".",
		"root of the source tree, with bin/ and config/")
	cmd.Flags().StringVar(&f.options.State, "dir", "",
		"directory of the cluster: kubeconfig, logs, pods")
}

func upCommand() *cobra.Command {
	f := &flags{}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "up --dir STATE",
		Short: "Run a cluster with Podesta until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.up(cmd) },
	}
	f.add(cmd)
	_ = cmd.MarkFlagRequired("dir") // fails only for a flag that does not exist
	cmd.Flags().StringVar(&f.bin, "bin", "", "directory with manager and agent (default ROOT/bin)")
	cmd.Flags().BoolVar(&o.Workloads, "workloads", false, "run kube-controller-manager, too, for "+
		"Deployments, StatefulSets, DaemonSets and PodDisruptionBudgets")
	cmd.Flags().StringVar(&f.roster, "roster", "", "address at which the manager serves agents "+
		"(default one that is free)")
	cmd.Flags().StringVar(&f.metrics, "metrics", "", "address at which the manager serves metrics "+
		"(default one that is free)")
	cmd.Flags().StringArrayVar(&o.Manager.Args, "manager-arg", nil,
		"argument for the manager (repeatable)")
	cmd.Flags().StringArrayVar(&f.images, "image", nil, "NAME=PATH: the program that stands for an "+
		"image; NAME is its repository or the end of it, without tag (repeatable)")
	cmd.Flags().StringArrayVar(&f.resolve, "resolve", nil, "HOST=ADDRESS or HOST:PORT=ADDRESS:PORT: "+
		"replace it in args and env values of pods; stands for DNS (repeatable)")
	return cmd
}

func (f *flags) up(cmd *cobra.Command) error {
	begun := time.Now()
	running, err := f.start(cmd)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ready after %.1f s; metrics at http://%s/metrics\n%s",
		time.Since(begun).Seconds(), f.metrics, running.Shell(f.programs()))
	var failure error
	select {
	case <-cmd.Context().Done():
	case failure = <-running.Failed():
	}
	if err := running.Close(); failure == nil {
		failure = err
	}
	return failure
}

// cluster is a local cluster that keeps the manager's port for as long as it runs.
type cluster struct {
	*local.Cluster

	kept []*port.Kept // those of the addresses that were not given
}

func (f *flags) start(cmd *cobra.Command) (*cluster, error) {
	c := &cluster{}
	for _, address := range []*string{&f.roster, &f.metrics} {
		if *address != "" {
			continue
		}
		kept, err := port.Keep()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.kept, *address = append(c.kept, kept), kept.Address
	}
	o, err := f.complete()
	if err == nil {
		o.Report, o.Assets.Log = say(cmd.ErrOrStderr()), cmd.ErrOrStderr()
		c.Cluster, err = local.Start(cmd.Context(), o)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends what has been started.
func (c *cluster) Close() (err error) {
	if c.Cluster != nil {
		err = c.Cluster.Close()
	}
	for _, kept := range c.kept {
		err = errors.Join(err, kept.Close())
	}
	return err
}

// programs is the directory of what make build has built.
func (f *flags) programs() string { return cmp.Or(f.bin, filepath.Join(f.root, "bin")) }

// complete turns flags into options.
func (f *flags) complete() (local.Options, error) {
	o := f.options
	me, err := os.Executable()
	if err != nil {
		return o, err
	}
	in := func(path string) string { return filepath.Join(f.root, path) }
	bin := f.programs()
	o.CRDs = []string{in("config/crd/bases")}
	o.Manifests = []string{in("config/manager/namespace.yaml"), in("config/rbac"),
		in("config/admission-policy")}
	o.Manager.User = managerUser
	o.Manager.Roster = f.roster
	o.Manager.Args = append([]string{"--roster-address=" + f.roster, "--health-address=0",
		"--metrics-address=" + f.metrics, "--metrics-secure=false"}, o.Manager.Args...)
	if o.Manager.Path, err = program(filepath.Join(bin, "manager")); err != nil {
		return o, err
	}
	agent := agentImage + "=" + filepath.Join(bin, "agent")
	programs, err := pairs("--image", append(slices.Clone(f.images), agent))
	if err != nil {
		return o, err
	}
	o.Pods.Images = map[string]podrunner.Program{"pause": {Path: me, Args: []string{"pause"}}}
	for name, path := range programs {
		if path, err = program(path); err != nil {
			return o, fmt.Errorf("the image %s: %w", name, err)
		}
		o.Pods.Images[name] = podrunner.Program{Path: path}
	}
	o.Pods.Resolve, err = pairs("--resolve", append(slices.Clone(f.resolve),
		rosterService+"="+f.roster))
	return o, err
}

// program is the absolute path of a file that can be run.
func program(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w: build it first", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not a program", path)
	}
	return path, nil
}

// pairs reads NAME=VALUE flags.
func pairs(flag string, values []string) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for _, value := range values {
		name, rest, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%s %q: must be NAME=VALUE", flag, value)
		}
		out[name] = rest
	}
	return out, nil
}
