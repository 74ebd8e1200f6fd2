// Package local is the developer's cluster as a whole: a control plane, the pod runner and, if
// asked for, the manager, all of them processes of this machine. It is for Linux; it needs neither
// root nor Docker.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/controlplane"
	"github.com/podesta-dev/podesta/hack/cluster/podrunner"
	"github.com/podesta-dev/podesta/hack/cluster/process"
	"github.com/podesta-dev/podesta/test/manifest"
)

// Options say what to run.
type Options struct {
	// State is the directory of this cluster. What an earlier one left there is removed, except logs.
	State string
	// Assets says where the control plane's programs come from; its Programs are filled in.
	Assets assets.Options
	// CRDs are files or directories of CustomResourceDefinitions to install.
	CRDs []string
	// Manifests are files, or directories of files, that are applied before the manager starts.
	Manifests []string
	// Workloads has a kube-controller-manager run Deployments, StatefulSets, DaemonSets,
	// PodDisruptionBudgets and the garbage collection.
	Workloads bool
	// Pods says how to run pods; Client, Dir and Log are filled in.
	Pods podrunner.Options
	// Manager is run beside them unless its Path is empty.
	Manager Manager
	// Report is told in a sentence what happens. It must not block.
	Report func(string)
}

// Manager is a program that is given the cluster's kubeconfig by the variable KUBECONFIG, beside
// this program's environment. It is started again when it ends by itself.
type Manager struct {
	Path string
	Args []string
	// Roster is the address at which it serves agents; if it is not empty, objects in the namespace
	// podesta-system stand for an installation of it.
	Roster string
	// User is who it is to the API server, with what RBAC grants it; a user who may do everything if
	// empty.
	User string
}

// Cluster is a running cluster. Its directory has kubeconfig, <program>.pid of the manager, etcd,
// kube-apiserver and kube-controller-manager, <program>.log of them and of podrunner, and
// logs/<namespace>_<pod>/<container>.log.
type Cluster struct {
	// Config is for a client that may do everything, Kubeconfig the file that says the same.
	Config     *rest.Config
	Kubeconfig string
	// Bin is the directory with the control plane's programs; it may have kubectl, too.
	Bin string

	options Options
	plane   *controlplane.ControlPlane
	lock    *os.File
	log     *os.File
	cancel  context.CancelFunc
	parts   sync.WaitGroup
	failed  chan error
}

// Start starts a cluster and returns when its API server answers. The caller must Close it; the
// context is for the start alone.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("the local cluster runs on Linux only, not on %s: use kind instead",
			runtime.GOOS)
	}
	state, err := filepath.Abs(o.State)
	if err != nil {
		return nil, err
	}
	o.State = state
	if o.Report == nil {
		o.Report = func(string) {}
	}
	c := &Cluster{options: o, failed: make(chan error, 4)} // one for each part
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	c.options.Assets.Programs = assets.ControlPlane
	if c.options.Workloads {
		c.options.Assets.Programs = append(slices.Clone(assets.ControlPlane), assets.Controllers)
	}
	var err error
	if c.Bin, err = assets.Dir(ctx, c.options.Assets); err != nil {
		return err
	}
	c.options.Report("starting etcd and kube-apiserver")
	c.plane, err = controlplane.Start(ctx, controlplane.Options{
		Assets: c.Bin,
		State:  c.options.State,
		CRDs:   c.options.CRDs,
		Keep:   true,
	})
	if err != nil {
		return err
	}
	c.Config = c.plane.Config
	c.Kubeconfig = filepath.Join(c.options.State, "kubeconfig")
	if err := os.WriteFile(c.Kubeconfig, c.plane.Kubeconfig, 0o600); err != nil {
		return err
	}
	kube, err := client.New(c.Config, client.Options{})
	if err != nil {
		return err
	}
	for _, path := range c.options.Manifests {
		c.options.Report("applying " + path)
		if err := manifest.Apply(ctx, kube, path, "cluster"); err != nil {
			return err
		}
	}
	if c.options.Manager.Roster != "" {
		if err := standIn(ctx, kube, c.options.Manager); err != nil {
			return fmt.Errorf("writing the objects that stand for the manager: %w", err)
		}
	}
	return c.run(ctx)
}

// run starts the parts that go on in the background; when one fails, Failed says so.
func (c *Cluster) run(ctx context.Context) error {
	kube, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	pods := c.options.Pods
	pods.Client, pods.Dir = kube, c.options.State
	pods.Log = slog.New(slog.NewTextHandler(c.log, nil))
	parts := []func(context.Context) error{
		c.plane.Watch,
		func(ctx context.Context) error { return podrunner.Run(ctx, pods) },
	}
	if c.options.Workloads {
		controllers, err := c.plane.Controllers(c.options.Report)
		if err != nil {
			return err
		}
		parts = append(parts, controllers.Run)
	}
	if c.options.Manager.Path != "" {
		manager, err := c.manager()
		if err != nil {
			return err
		}
		parts = append(parts, manager.Run)
	}
	// the caller's is for the start alone
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	for _, part := range parts {
		c.parts.Go(func() {
			if err := part(ctx); err != nil {
				c.failed <- err
			}
		})
	}
	return nil
}

func (c *Cluster) manager() (process.Supervised, error) {
	m := c.options.Manager
	kubeconfig := c.Kubeconfig
	if m.User != "" {
		text, err := c.plane.UserKubeconfig(m.User, "system:authenticated")
		if err != nil {
			return process.Supervised{}, err
		}
		kubeconfig = filepath.Join(c.options.State, "manager.kubeconfig")
		if err := os.WriteFile(kubeconfig, text, 0o600); err != nil {
			return process.Supervised{}, err
		}
	}
	return process.Supervised{
		Path:    m.Path,
		Args:    m.Args,
		Env:     append(os.Environ(), "KUBECONFIG="+kubeconfig),
		Log:     filepath.Join(c.options.State, "manager.log"),
		PIDFile: filepath.Join(c.options.State, "manager.pid"),
		Report:  c.options.Report,
	}, nil
}

// Failed says why a part of the cluster has ended before Close. The rest still runs.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Close stops everything: the manager by SIGTERM, pods by SIGKILL, then the control plane.
func (c *Cluster) Close() error {
	if c.cancel != nil {
		c.cancel()
	}
	c.parts.Wait()
	var err error
	if c.plane != nil {
		err = c.plane.Stop()
	}
	for _, file := range []*os.File{c.log, c.lock} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// prepare takes the directory for this cluster alone and clears what an earlier one left.
func (c *Cluster) prepare() error {
	state := c.options.State
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(state, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	c.lock = lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another cluster runs in %s: stop it, or name another directory", state)
	}
	for _, old := range []string{"pods", "kubeconfig", "manager.kubeconfig", "manager.pid", "etcd.pid",
		"kube-apiserver.pid", assets.Controllers + ".pid", assets.Controllers + ".kubeconfig"} {
		if err := os.RemoveAll(filepath.Join(state, old)); err != nil {
			return err
		}
	}
	c.log, err = os.Create(filepath.Join(state, "podrunner.log"))
	return err
}
