// Command operator is a small operator built on controller-runtime that leads by its pod's Podesta
// agent, and not by a Lease. It answers ConfigMaps: what one has as "question" is repeated as
// "answer", with the name of the replica and the epoch under which it answered.
//
// What makes it so is one line, in operator. The rest is what it would be with a Lease; that it
// refuses to write under an epoch below the one in the object is fencing, which a Lease does not
// offer.
//
//	go run -C examples ./operator --kubeconfig FILE [--agent URL]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
	podesta "github.com/podesta-dev/podesta/client/kubernetes/controllerruntime"
)

func main() {
	url := flag.String("agent", "", "the URL of the agent; default: the address in $ELECTOR_PATH")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	// with the agent in the same pod: podesta.LeaderElection
	elect := podesta.NewLock(&agent.Client{URL: *url}).LeaderElection
	name, err := os.Hostname()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), name, elect)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) // the kubelet starts it again, as another candidate
	}
}

// run runs the operator until ctx ends, or until it no longer leads.
func run(
	ctx context.Context, config *rest.Config, name string, elect func(*manager.Options) error,
) error {
	m, err := operator(config, name, elect)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// operator makes the operator. How it is elected is up to elect: this is the one line.
func operator(
	config *rest.Config, name string, elect func(*manager.Options) error,
) (manager.Manager, error) {
	options := manager.Options{Metrics: metrics.Options{BindAddress: "0"}}
	if err := elect(&options); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	asked := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetLabels()["answer"] == "wanted"
	})
	return m, ctrl.NewControllerManagedBy(m).
		For(&corev1.ConfigMap{}, builder.WithPredicates(asked)).
		Complete(&answerer{client: m.GetClient(), name: name})
}

// answerer answers ConfigMaps.
type answerer struct {
	client client.Client
	name   string
}

// Reconcile repeats the question as the answer. The update is refused if the object has changed
// since it was read, so the epoch that was compared is the one that is replaced.
func (a *answerer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if err := ctx.Err(); err != nil { // a queue hands out what it has after the replica has lost, too
		return ctrl.Result{}, err
	}
	var asked corev1.ConfigMap
	if err := a.client.Get(ctx, request.NamespacedName, &asked); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if asked.Data["answer"] == asked.Data["question"] {
		return ctrl.Result{}, nil
	}
	if epoch, bound := fence.EpochOf(ctx); bound { // not where a Lease alone decides
		if seen, _ := strconv.ParseInt(asked.Data["epoch"], 10, 64); agent.Epoch(seen) > epoch {
			return ctrl.Result{}, &fence.StaleError{Epoch: epoch, Seen: agent.Epoch(seen)}
		}
		asked.Data["epoch"] = strconv.FormatInt(int64(epoch), 10)
	}
	asked.Data["answer"], asked.Data["by"] = asked.Data["question"], a.name
	return ctrl.Result{}, a.client.Update(ctx, &asked)
}
