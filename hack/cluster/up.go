package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/hack/cluster/local"
	"github.com/podesta-dev/podesta/hack/cluster/podrunner"
)

// agentImage is the repository, without its registry, of the agent's image.
const agentImage = "podesta-dev/agent"

type upFlags struct {
	options         local.Options
	agent           string
	images, resolve []string
}

func upCommand() *cobra.Command {
	f := &upFlags{}
	o := &f.options
	cmd := &cobra.Command{
		Use:   "up --dir STATE",
		Short: "Run a cluster until SIGINT or SIGTERM",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.up(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.State, "dir", "", "directory of the cluster: kubeconfig, logs, pods")
	_ = cmd.MarkFlagRequired("dir") // fails only for a flag that does not exist
	flags.StringArrayVar(&o.CRDs, "crds", nil, "file or directory of CustomResourceDefinitions to "+
		"install (repeatable)")
	flags.StringArrayVar(&o.Manifests, "apply", nil, "file, or directory of files, to apply before "+
		"the manager starts (repeatable)")
	flags.StringVar(&o.Manager.Path, "manager", "", "manager to run, with KUBECONFIG set; output in "+
		"STATE/manager.log, process id in STATE/manager.pid")
	flags.StringArrayVar(&o.Manager.Args, "manager-arg", nil, "argument for the manager (repeatable)")
	flags.StringVar(&o.Manager.User, "manager-user", "", "user that the manager is to the API "+
		"server, such as system:serviceaccount:NAMESPACE:NAME (default one who may do everything)")
	flags.StringVar(&f.agent, "agent", "", "program that stands for the agent's image: short for "+
		"--image "+agentImage+"=PATH")
	flags.StringArrayVar(&f.images, "image", nil, "NAME=PATH: the program that stands for an image; "+
		"NAME is its repository or the end of it, without tag (repeatable)")
	flags.StringArrayVar(&f.resolve, "resolve", nil, "HOST=ADDRESS or HOST:PORT=ADDRESS:PORT: "+
		"replace it in args and env values of pods; stands for DNS (repeatable)")
	flags.DurationVar(&o.Pods.Backoff.First, "restart-delay", podrunner.DefaultBackoff.First,
		"wait before a container's first restart; it doubles")
	flags.DurationVar(&o.Pods.Backoff.Max, "restart-delay-max", podrunner.DefaultBackoff.Max,
		"longest wait before a restart")
	o.Pods.Backoff.Reset = podrunner.DefaultBackoff.Reset
	return cmd
}

func (f *upFlags) up(cmd *cobra.Command) error {
	start := time.Now()
	o, err := f.complete()
	if err != nil {
		return err
	}
	o.Report, o.Assets.Log = say(cmd.ErrOrStderr()), cmd.ErrOrStderr()
	cluster, err := local.Start(cmd.Context(), o)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ready after %.1f s: export KUBECONFIG=%s\n",
		time.Since(start).Seconds(), cluster.Kubeconfig)
	var failure error
	select {
	case <-cmd.Context().Done():
	case failure = <-cluster.Failed():
	}
	if err := cluster.Close(); failure == nil {
		failure = err
	}
	return failure
}

// complete turns flags into options.
func (f *upFlags) complete() (local.Options, error) {
	o := f.options
	me, err := self()
	if err != nil {
		return o, err
	}
	o.Tether, o.Keep = []string{me, "tether"}, []string{me, "keep"}
	if f.agent != "" {
		f.images = append(f.images, agentImage+"="+f.agent)
	}
	programs, err := pairs("--image", f.images)
	if err != nil {
		return o, err
	}
	o.Pods.Images = map[string]podrunner.Program{"pause": {Path: me, Args: []string{"pause"}}}
	for name, path := range programs {
		if path, err = program(path); err != nil {
			return o, fmt.Errorf("--image %s: %w", name, err)
		}
		o.Pods.Images[name] = podrunner.Program{Path: path}
	}
	if o.Manager.Path != "" {
		if o.Manager.Path, err = program(o.Manager.Path); err != nil {
			return o, fmt.Errorf("--manager: %w", err)
		}
	}
	o.Pods.Resolve, err = pairs("--resolve", f.resolve)
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
