package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/hack/cluster/assets"
	"github.com/podesta-dev/podesta/hack/cluster/controlplane"
	"github.com/podesta-dev/podesta/test/manifest"
	"github.com/podesta-dev/podesta/test/port"
)

// system is the manager's namespace, and kubeconfig a file of its ServiceAccount.
const (
	system     = "podesta-system"
	kubeconfig = "manager.kubeconfig"
)

// site is a cluster under load.
type site struct {
	options

	results results
	plane   *controlplane.ControlPlane
	kube    client.Client // of an administrator
	core    kubernetes.Interface

	address  string       // at which the leading manager serves agents
	ports    []*port.Kept // of the managers
	version  string       // of the manager
	managers []*manager   // the leader is the one that serves

	all    []*group
	byName map[types.NamespacedName]*group
	nodes  []*node
	trust  sync.Map // by namespace: the bundle

	tally *tally       // of groups whose status is not right
	heard atomic.Int64 // agents that have heard a roster in this round
	round atomic.Int64

	stopWatch context.CancelFunc
	watching  sync.WaitGroup
	lagging   lagBook
}

// build starts everything, up to groups whose agents have all elected.
func build(ctx context.Context, o options) (*site, error) {
	s := &site{
		options: o,
		byName:  map[types.NamespacedName]*group{},
		tally:   &tally{changed: make(chan struct{}, 1)},
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) build(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.makeOut, s.startControlPlane, s.installManager, s.startManagers, s.measureEmpty,
		s.makeObjects, s.watchGroups, s.startAgents,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.awaitRight(ctx, "all statuses right for the first time")
}

func (s *site) makeOut(context.Context) (err error) {
	if s.out == "" {
		s.out, err = os.MkdirTemp("", "scale-")
	} else {
		err = os.MkdirAll(s.out, 0o750)
	}
	if err == nil {
		s.out, err = filepath.Abs(s.out)
	}
	fmt.Fprintf(os.Stderr, "scale: results and logs go to %s\n", s.out)
	return err
}

func (s *site) startControlPlane(ctx context.Context) error {
	fmt.Fprintln(os.Stderr, "scale: starting etcd and kube-apiserver")
	programs, err := assets.Dir(ctx, assets.Options{Programs: assets.ControlPlane, Log: os.Stderr})
	if err != nil {
		return err
	}
	// 50,000 pods that were all made within minutes may not fit into etcd's default of 2 GiB
	if err := os.Setenv("ETCD_QUOTA_BACKEND_BYTES", strconv.Itoa(8<<30)); err != nil {
		return err
	}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Assets: programs,
		State:  filepath.Join(s.out, "cluster"),
		CRDs:   []string{filepath.Join(s.root, "config", "crd", "bases")},
	})
	if err != nil {
		return err
	}
	scheme, err := controllers.NewScheme()
	if err != nil {
		return err
	}
	config := rest.CopyConfig(s.plane.Config)
	config.QPS = -1
	if s.kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	s.core, err = kubernetes.NewForConfig(config)
	return err
}

// installManager applies what an installation does, but for the Deployment.
func (s *site) installManager(ctx context.Context) error {
	for _, path := range []string{"config/manager/namespace.yaml", "config/rbac"} {
		if err := manifest.Apply(ctx, s.kube, filepath.Join(s.root, path), "scale"); err != nil {
			return err
		}
	}
	var err error
	if s.address, err = s.keepPort(); err != nil {
		return err
	}
	text, err := s.plane.UserKubeconfig("system:serviceaccount:"+system+":podesta-manager",
		"system:serviceaccounts", "system:serviceaccounts:"+system, "system:authenticated")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, kubeconfig), text, 0o600)
}

// close stops everything.
func (s *site) close() error {
	var ending sync.WaitGroup
	for _, g := range s.all {
		ending.Go(func() {
			for _, a := range g.agents {
				a.end()
			}
		})
	}
	ending.Wait()
	if s.stopWatch != nil {
		s.stopWatch()
	}
	s.watching.Wait()
	s.endManagers()
	for _, kept := range s.ports {
		_ = kept.Close()
	}
	if s.plane == nil {
		return nil
	}
	return s.plane.Stop()
}

// keepPort keeps an address for a manager until the site closes.
func (s *site) keepPort() (address string, err error) {
	kept, err := port.Keep()
	if err != nil {
		return "", err
	}
	s.ports = append(s.ports, kept)
	return kept.Address, nil
}
