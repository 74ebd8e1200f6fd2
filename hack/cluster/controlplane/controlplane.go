// Package controlplane runs etcd and kube-apiserver as processes of this machine, and the little
// that a kube-controller-manager does for every namespace: its ServiceAccount "default" and its
// ConfigMap "kube-root-ca.crt".
//
// A program that uses this package handles the arguments tether (process.Tether) and, for
// Options.Keep, keep (process.Keep); otherwise nothing starts.
//
// Controllers adds a kube-controller-manager. Without it nobody collects garbage or runs
// Deployments and StatefulSets, and a deleted namespace stays Terminating. There is no scheduler.
// Every start is a fresh cluster: no data is kept.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Options say what to run and where.
type Options struct {
	// Assets is the directory with etcd and kube-apiserver.
	Assets string
	// State is the directory for certificates, data and logs; what an earlier start left there is
	// removed.
	State string
	// CRDs are files or directories of CustomResourceDefinitions to install.
	CRDs []string
	// Keep has etcd and kube-apiserver started again when they end.
	Keep bool
}

// ControlPlane is a running API server.
type ControlPlane struct {
	// Config is for a client that may do everything.
	Config *rest.Config
	// Kubeconfig is the same as the text of a kubeconfig file.
	Kubeconfig []byte

	options Options
	env     *envtest.Environment
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	logs    []*os.File
}

// Start starts the control plane and returns when it answers, its CRDs are served and the namespace
// "default" is ready. The caller must Stop it; the context is for the start alone.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	c := &ControlPlane{options: o, env: &envtest.Environment{
		UseExistingCluster:       new(false), // whatever USE_EXISTING_CLUSTER says
		ControlPlaneStartTimeout: time.Minute,
	}}
	if err := c.configure(o); err != nil {
		c.closeLogs()
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane (its logs are in %s): %w", o.State,
			err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	config, err := c.env.Start() // bounded by its own time-outs
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	keeper := namespaceKeeper{client: client, rootCA: string(config.CAData)}
	if err := keeper.prepare(ctx, "default"); err != nil {
		return err
	}
	c.Config, c.Kubeconfig = config, c.env.KubeConfig

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.ended.Go(func() { keeper.run(running) })
	return nil
}

// UserKubeconfig is a kubeconfig file's text for a user of this name and these groups, with what
// RBAC grants it. A ServiceAccount's name is system:serviceaccount:<namespace>:<name>.
func (c *ControlPlane) UserKubeconfig(name string, groups ...string) ([]byte, error) {
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: groups}, rest.CopyConfig(c.Config))
	if err != nil {
		return nil, err
	}
	return user.KubeConfig()
}

// Stop stops everything and waits for the end.
func (c *ControlPlane) Stop() error {
	if c.cancel != nil {
		c.cancel()
	}
	c.ended.Wait()
	err := c.env.Stop()
	c.closeLogs()
	return err
}

func (c *ControlPlane) closeLogs() {
	for _, log := range c.logs {
		_ = log.Close()
	}
}

func (c *ControlPlane) configure(o Options) error {
	etcdDir, certDir := filepath.Join(o.State, "etcd"), filepath.Join(o.State, "certificates")
	bin := filepath.Join(o.State, "bin")
	for _, dir := range []string{etcdDir, certDir, bin} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	plane := &c.env.ControlPlane
	plane.Etcd = &envtest.Etcd{DataDir: etcdDir}
	server := plane.GetAPIServer()
	server.CertDir = certDir
	// envtest turns the ServiceAccount plugin off because nobody makes the ServiceAccounts there; here
	// the keeper does.
	server.Configure().Disable("disable-admission-plugins")

	var err error
	if plane.Etcd.Path, err = program(o, bin, "etcd"); err != nil {
		return err
	}
	if server.Path, err = program(o, bin, "kube-apiserver"); err != nil {
		return err
	}
	etcdLog, err := c.createLog(o.State, "etcd")
	if err != nil {
		return err
	}
	serverLog, err := c.createLog(o.State, "kube-apiserver")
	if err != nil {
		return err
	}
	plane.Etcd.Out, plane.Etcd.Err = etcdLog, etcdLog
	server.Out, server.Err = serverLog, serverLog
	c.env.CRDDirectoryPaths, c.env.ErrorIfCRDPathMissing = o.CRDs, true
	return nil
}

func (c *ControlPlane) createLog(dir, name string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"),
		os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		c.logs = append(c.logs, log)
	}
	return log, err
}

// program runs the asset of that name as a child that ends with this program: by the arguments
// tether and, with Keep, keep of this program itself. envtest wants one file to run, hence a
// script.
func program(o Options, bin, name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{self, "tether", strconv.Itoa(os.Getpid())}
	if o.Keep {
		words = append(words, self, "keep", filepath.Join(o.State, name))
	}
	asset := filepath.Join(o.Assets, name)
	// Before it starts a program, envtest asks it for its flags: a question that ends, so nothing is
	// kept running.
	text := "#!/bin/sh\n[ \"$1\" != --help ] || exec " + quoted(asset) + " --help\nexec " +
		quoted(append(words, asset)...) + " \"$@\"\n"
	script := filepath.Join(bin, name)
	return script, os.WriteFile(script, []byte(text), 0o700)
}

// quoted writes words as a shell reads them.
func quoted(words ...string) string {
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
