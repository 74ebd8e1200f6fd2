package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/controlplane"
)

// What some systems need beside their members.
const (
	apiServer  = "API server"
	etcdServer = "etcd server"
)

// servers are those that run.
type servers struct {
	kubeconfig, api string // a file, and HOST:PORT
	etcd            string // HOST:PORT

	plane   *controlplane.ControlPlane
	process *exec.Cmd
}

// startServers starts what these systems need, with their state in a folder. It returns those that
// it has started also with an error.
func startServers(ctx context.Context, dir string, systems []system) (*servers, error) {
	all := &servers{}
	needed := func(server string) bool {
		return slices.ContainsFunc(systems, func(y system) bool { return y.needs == server })
	}
	if !needed(apiServer) && !needed(etcdServer) {
		return all, nil
	}
	programs, err := assets.Dir(ctx, assets.Options{Programs: assets.ControlPlane, Log: os.Stderr})
	if err == nil && needed(apiServer) {
		err = all.startAPI(ctx, programs, filepath.Join(dir, "control-plane"))
	}
	if err == nil && needed(etcdServer) {
		err = all.startEtcd(ctx, programs, filepath.Join(dir, "etcd"))
	}
	return all, err
}

func (s *servers) startAPI(ctx context.Context, programs, dir string) (err error) {
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Assets: programs,
		State:  dir,
	})
	if err != nil {
		return err
	}
	s.api = strings.Trim(strings.TrimPrefix(s.plane.Config.Host, "https://"), "/")
	s.kubeconfig = filepath.Join(dir, "kubeconfig")
	return os.WriteFile(s.kubeconfig, s.plane.Kubeconfig, 0o600)
}

// startEtcd starts one etcd server. Its clients wait until it answers.
func (s *servers) startEtcd(ctx context.Context, programs, dir string) error {
	host := fmt.Sprintf("127.110.%d.1:", os.Getpid()%250)
	clients, peers := host+"2379", "http://"+host+"2380"
	log, err := os.Create(dir + ".log")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // etcd has its own descriptor
	// It ends with stop, when the members have ended.
	//nolint:gosec // this project makes it
	c := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(programs, "etcd"), "--data-dir",
		dir, "--name", "peers", "--listen-client-urls", "http://"+clients, "--advertise-client-urls",
		"http://"+clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "peers="+peers)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.etcd, s.process = clients, c
	return c.Start()
}

func (s *servers) stop() error {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait() // it was killed
	}
	if s.plane != nil {
		return s.plane.Stop()
	}
	return nil
}
