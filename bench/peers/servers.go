package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/controlplane"
)

// What some systems need beside their members.
const (
	apiServer  = "API server"
	etcdServer = "etcd server"
)

// tether has this program become another one that ends with it.
const tether = "tether"

// servers are those that run.
type servers struct {
	kubeconfig, api string // a file, and HOST:PORT
	etcd            string // HOST:PORT

	plane   *controlplane.ControlPlane
	process *exec.Cmd
}

// startServers starts what these systems need, with their state in a folder.
func startServers(ctx context.Context, dir string, systems []system) (*servers, error) {
	needs := map[string]bool{}
	for _, s := range systems {
		for _, n := range s.needs {
			needs[n] = true
		}
	}
	all := &servers{}
	if len(needs) == 0 {
		return all, nil
	}
	programs, err := assets.Dir(ctx, assets.Options{Programs: assets.ControlPlane, Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	if needs[apiServer] {
		err = all.startAPI(ctx, programs, filepath.Join(dir, "control-plane"))
	}
	if err == nil && needs[etcdServer] {
		err = all.startEtcd(ctx, programs, filepath.Join(dir, "etcd"))
	}
	if err != nil {
		return nil, errors.Join(err, all.stop())
	}
	return all, nil
}

func (s *servers) startAPI(ctx context.Context, programs, dir string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Assets: programs,
		State:  dir,
		Tether: []string{self, tether},
	})
	if err != nil {
		return err
	}
	u, err := url.Parse(s.plane.Config.Host)
	if err != nil {
		return err
	}
	if s.api = u.Host; s.api == "" {
		s.api = s.plane.Config.Host
	}
	s.kubeconfig = filepath.Join(dir, "kubeconfig")
	return os.WriteFile(s.kubeconfig, s.plane.Kubeconfig, 0o600)
}

// startEtcd starts one etcd server. Its clients wait until it answers.
func (s *servers) startEtcd(ctx context.Context, programs, dir string) error {
	var ports [2]string
	for i := range ports {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ports[i] = l.Addr().String()
		l.Close()
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // etcd has its own descriptor
	// It ends with stop, when the members have ended.
	//nolint:gosec // this project makes it
	c := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(programs, "etcd"), "--data-dir",
		dir, "--name", "peers", "--listen-client-urls", "http://"+ports[0], "--advertise-client-urls",
		"http://"+ports[0], "--listen-peer-urls", "http://"+ports[1], "--initial-advertise-peer-urls",
		"http://"+ports[1], "--initial-cluster", "peers=http://"+ports[1])
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	s.etcd, s.process = ports[0], c
	return nil
}

func (s *servers) stop() error {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait() // it was killed
	}
	if s.plane != nil {
		return s.plane.Stop()
	}
	return nil
}
