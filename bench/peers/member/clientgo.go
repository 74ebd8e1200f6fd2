package member

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// clientGo is a candidate of client-go's leader election, on a Lease of an API server. As the
// candidates of controller-runtime and of Kubernetes' own programs, it exits when it has lost the
// Lease, and has another identity each time it is started: under its old one it would lead on, as
// if it had not been killed.
func clientGo(ctx context.Context, args []string, say *said.Speaker) error {
	var id string
	f := flags("client-go", &id)
	kubeconfig := f.String("kubeconfig", "", "the API server")
	server := f.String("server", "", "its URL for this member")
	name := f.String("lease", "", "the Lease's name")
	duration := f.Duration("lease-duration", 15*time.Second, "LeaseDuration")
	deadline := f.Duration("renew-deadline", 10*time.Second, "RenewDeadline")
	retry := f.Duration("retry-period", 2*time.Second, "RetryPeriod")
	release := f.Bool("release", false, "ReleaseOnCancel: without it a hand-over is like a crash")
	if err := f.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags(*server, *kubeconfig)
	if err != nil {
		return err
	}
	// As resourcelock.NewFromKubeconfig has it: otherwise a request that hangs in a cut network keeps
	// the member a leader.
	config.Timeout = max(*deadline/2, time.Second)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: *name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id + "_" + rand.Text()},
		},
		LeaseDuration:   *duration,
		RenewDeadline:   *deadline,
		RetryPeriod:     *retry,
		ReleaseOnCancel: *release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say.Leads(register.Now()) },
			OnStoppedLeading: func() { say.Ceases(register.Now()) },
			OnNewLeader: func(identity string) {
				name, _, _ := strings.Cut(identity, "_")
				say.Names(name)
			},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	return nil
}
