// Package local is the backend of chaos runs on the local cluster of hack/cluster: one node, whose
// containers are processes of this machine. It needs no root and no Docker. It cannot cut links,
// since all pods have addresses of the loopback interface, and has no kube-proxy and no controllers
// but Podesta's.
package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/stage"
)

const (
	// registerImage stands for bin/register, and registerService for where it listens.
	registerImage   = "podesta-dev/register"
	registerService = "register.test.svc:8080"
	// node is the only one.
	node = "local"
)

// Options say where everything is.
type Options struct {
	Repository string // the source tree, with bin/ and config/
	Dir        string // for the cluster, logs and traces
	Program    string // test/chaos/node
}

// Backend is the backend; New makes it.
type Backend struct {
	Options

	running *stage.Cluster
	cluster backend.Cluster
	sets    sets
	ending  []func() error // what Down does, the last one first

	mu   sync.Mutex
	take func(register.Entry)
}

// New returns a backend; Up starts its cluster.
func New(o Options) *Backend { return &Backend{Options: o} }

// Up starts the register and the cluster.
func (b *Backend) Up(ctx context.Context) (backend.Cluster, error) {
	c := &b.cluster
	c.Traces = filepath.Join(b.Dir, "writers")
	if err := os.MkdirAll(c.Traces, 0o700); err != nil {
		return *c, err
	}
	address, err := b.serveRegister(ctx)
	if err != nil {
		return *c, err
	}
	log, err := os.Create(filepath.Join(b.Dir, "cluster.log"))
	if err != nil {
		return *c, err
	}
	b.ending = append(b.ending, log.Close)
	b.running, err = stage.Up(ctx, b.Repository, b.Dir, log,
		"--image", registerImage+"="+filepath.Join(b.Repository, "bin/register"),
		"--resolve", registerService+"="+address)
	if err != nil {
		return *c, fmt.Errorf("%w (see %s)", err, log.Name())
	}
	b.ending = append(b.ending, b.running.Close)
	if c.Stage, err = stage.Connect(b.running.Kubeconfig, "", ""); err != nil {
		return *c, err
	}
	c.Nodes, c.Workers = 1, []string{node}
	c.Image, c.Register = registerImage, "http://"+registerService
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.sets = sets{
		ctx:    running,
		stage:  c.Stage,
		wanted: map[string]backend.Set{},
	}
	b.ending = append(b.ending, func() error { cancel(); b.sets.running.Wait(); return nil })
	c.Kubernetes, err = c.Version()
	return *c, err
}

// Down ends what Up began.
func (b *Backend) Down() (err error) {
	for ; len(b.ending) > 0; b.ending = b.ending[:len(b.ending)-1] {
		err = errors.Join(err, b.ending[len(b.ending)-1]())
	}
	return err
}

func (b *Backend) registerLog() string { return filepath.Join(b.Dir, "register.jsonl") }

// serveRegister serves the register in this program.
func (b *Backend) serveRegister(ctx context.Context) (address string, err error) {
	log, err := os.Create(b.registerLog())
	if err != nil {
		return "", err
	}
	b.ending = append(b.ending, log.Close)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: register.New(log, b.wrote), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends when it is closed
	}()
	b.ending = append(b.ending, func() error { err := server.Close(); <-ended; return err })
	return l.Addr().String(), nil
}

// wrote takes an entry from the register.
func (b *Backend) wrote(e register.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.take != nil {
		b.take(e)
	}
}

// Follow calls take with what the register takes from now on.
func (b *Backend) Follow(ctx context.Context, take func(register.Entry)) error {
	follow := func(take func(register.Entry)) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.take = take
	}
	follow(take)
	<-ctx.Done()
	follow(nil)
	return nil
}

// Keep has nothing to do: the cluster keeps all logs.
func (b *Backend) Keep(context.Context) error { return nil }

// Gather finds the files where the cluster and the writers put them.
func (b *Backend) Gather(_ context.Context, namespace string) (l backend.Leavings, err error) {
	l.Register, l.AgentLogs = b.registerLog(), map[string][]string{}
	if l.Traces, err = filepath.Glob(filepath.Join(b.cluster.Traces, "*.jsonl")); err != nil {
		return l, err
	}
	of := filepath.Join(b.Dir, "logs", namespace+"_")
	logs, err := filepath.Glob(of + "*/podesta-agent.log")
	for _, file := range logs {
		l.AgentLogs[strings.TrimPrefix(filepath.Dir(file), of)] = []string{file}
	}
	return l, err
}
