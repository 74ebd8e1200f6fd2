package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/podesta-dev/podesta/client/agent"
	podesta "github.com/podesta-dev/podesta/client/kubernetes/controllerruntime"
)

// The operators of the tests are processes of this test binary, told by these variables what to do.
const (
	kubeconfigEnv = "OPERATOR_TEST_KUBECONFIG"
	urlEnv        = "OPERATOR_TEST_AGENT"
	nameEnv       = "OPERATOR_TEST_NAME"
	releaseEnv    = "OPERATOR_TEST_RELEASE"
	actsEnv       = "OPERATOR_TEST_ACTS"
)

// release is a release of the operator: by what its replicas lead.
type release string

const (
	byLease   release = "Lease"
	byBoth    release = "LeaseAndPodesta"
	byPodesta release = "Podesta"

	byClientGo release = "ClientGo" // see stubborn
)

// The Lease of those that have one. It lasts as short as client-go's elector can be sure of on a
// busy machine.
const (
	leaseName     = "operator"
	leaseDuration = 5 * time.Second
	renewDeadline = 3 * time.Second
	retryPeriod   = 250 * time.Millisecond
)

// elect is the one line of a release.
func (r release) elect(config *rest.Config, url string) func(*manager.Options) error {
	lock := podesta.NewLock(&agent.Client{URL: url})
	return func(options *manager.Options) error {
		if r == byPodesta {
			return lock.LeaderElection(options)
		}
		lasts, renew, retry := leaseDuration, renewDeadline, retryPeriod
		options.LeaderElection = true
		options.LeaderElectionID, options.LeaderElectionNamespace = leaseName, "default"
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lasts, &renew, &retry
		if r == byLease {
			return nil
		}
		return lock.LeaderElectionWithLease(config, options)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(releaseEnv) == string(byClientGo) {
		stubborn(os.Getenv(urlEnv), os.Getenv(nameEnv), os.Getenv(actsEnv))
	}
	kubeconfig := os.Getenv(kubeconfigEnv)
	if kubeconfig == "" {
		os.Exit(m.Run())
	}
	ctrl.SetLogger(zap.New())
	if err := serve(ctrl.SetupSignalHandler(), kubeconfig); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// serve is the operator's main with what the variables say, and with its acts recorded.
func serve(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	r := release(cmp.Or(os.Getenv(releaseEnv), string(byPodesta)))
	m, err := operator(config, os.Getenv(nameEnv), r.elect(config, os.Getenv(urlEnv)))
	if err != nil {
		return err
	}
	if file := os.Getenv(actsEnv); file != "" {
		for _, part := range []manager.Runnable{acts{file: file, who: string(r)}, ready{file: file, who: string(r)}} {
			if err := m.Add(part); err != nil {
				return err
			}
		}
	}
	return m.Start(ctx)
}

// begin starts the operator of a replica.
func (r *replica) begin(t *testing.T, kubeconfig string, of release, acts string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), kubeconfigEnv+"="+kubeconfig, urlEnv+"="+r.url, nameEnv+"="+r.name,
		releaseEnv+"="+string(of), actsEnv+"="+acts)
	r.ended = make(chan error, 1)
	r.operator = start(t, c, r.ended)
}

// deployed is a replica whose container is started again when it ends by itself, as a kubelet does.
type deployed struct {
	end func(syscall.Signal) // ends it for good
}

// restartAfter is how long a kubelet would wait before it starts a container again, at first.
const restartAfter = 100 * time.Millisecond

// deploy starts a replica, and keeps it running until it is ended.
func (r *replica) deploy(t *testing.T, kubeconfig string, of release, acts string) deployed {
	t.Helper()
	r.begin(t, kubeconfig, of, acts)
	with, over := make(chan syscall.Signal, 1), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case signal := <-with:
				_ = r.operator.Process.Signal(signal) // it may just have ended by itself
				<-r.ended
				return
			case <-r.ended: // above all, it has lost
			}
			select {
			case <-with:
				return
			case <-time.After(restartAfter):
				r.begin(t, kubeconfig, of, acts)
			}
		}
	}()
	var once sync.Once
	d := deployed{end: func(signal syscall.Signal) {
		once.Do(func() { with <- signal })
		<-over
	}}
	t.Cleanup(func() { d.end(syscall.SIGKILL) })
	return d
}
