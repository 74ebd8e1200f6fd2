// Package podrunner plays the kubelet and the scheduler for the pods of election groups: it runs
// their containers as processes of this machine, each pod on a loopback address of its own, and
// writes their status as a kubelet does.
//
// It isolates nothing, pulls no images and serves no Services, exec or logs; kind does. It knows as
// much of a pod as the samples and tests need, and refuses one that needs more (judge). There are
// no mount namespaces and no DNS, so mount paths and host names in a pod's args, command and env
// values are replaced by what stands for them (replacer).
//
// A pod is owned by one goroutine (worker). It decides purely (podState.decide, podState.status)
// and leaves the files of volumes, the writing of status and the probes to goroutines of their own
// that only tell it what happened.
package podrunner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Options say which pods to run, and with what.
type Options struct {
	// Client may do everything.
	Client kubernetes.Interface
	// Dir is where the pods' volumes (pods/<uid>) and logs (logs/<namespace>_<pod>/<container>.log)
	// go.
	Dir string
	// Images are the programs that stand for images; see programFor for how a key matches.
	Images map[string]Program
	// Resolve replaces hosts in the pods' args and env values: it stands for cluster DNS.
	Resolve map[string]string
	// RestartDelay is how long a container that ended waits until it is started again; a second if
	// zero.
	RestartDelay time.Duration
	// Log is told what a kubelet logs; nothing is if nil.
	Log *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.RestartDelay == 0 {
		o.RestartDelay = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(o.Dir)
	o.Dir = dir
	return o, err
}

// Runner runs pods.
type Runner struct {
	Options
	addresses *addresses
	cached    corelisters.ConfigMapLister

	mu      sync.Mutex
	workers map[types.UID]*worker
	running sync.WaitGroup
}

// Run runs the pods until the context ends; then it kills them all and returns nil. What it finds
// running from an earlier run it does not adopt: it starts everything afresh.
func Run(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	r := &Runner{Options: o, workers: make(map[types.UID]*worker)}
	if r.addresses, err = claimAddresses(ctx); err != nil {
		return err
	}
	defer r.addresses.close()
	if err := registerNode(ctx, o.Client, node); err != nil {
		return err
	}
	defer r.running.Wait()
	return r.watch(ctx)
}

// watch feeds the workers until the context ends.
func (r *Runner) watch(ctx context.Context) error {
	objects := informers.NewSharedInformerFactory(r.Client, 0)
	pods := informers.NewSharedInformerFactoryWithOptions(r.Client, 0,
		informers.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = v1.GroupLabel }))
	defer objects.Shutdown()
	defer pods.Shutdown()

	configMaps := objects.Core().V1().ConfigMaps()
	r.cached = configMaps.Lister()
	_, err1 := configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    r.pokePods,
		UpdateFunc: func(_, object any) { r.pokePods(object) },
		DeleteFunc: r.pokePods,
	})
	objects.Start(ctx.Done())
	objects.WaitForCacheSync(ctx.Done())

	_, err2 := pods.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { r.seen(ctx, podOf(object)) },
		UpdateFunc: func(before, after any) {
			if podOf(before).UID != podOf(after).UID {
				r.vanished(podOf(before)) // deleted and made again while nobody looked
			}
			r.seen(ctx, podOf(after))
		},
		DeleteFunc: func(object any) { r.vanished(podOf(object)) },
	})
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	pods.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

// seen hands a pod to its worker, a new one if it has none.
func (r *Runner) seen(ctx context.Context, pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, found := r.workers[pod.UID]; found {
		w.offer(pod)
		return
	}
	if ctx.Err() != nil {
		return
	}
	w := newWorker(r, pod)
	r.workers[pod.UID] = w
	r.running.Go(func() {
		w.run(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.workers, pod.UID)
	})
}

// vanished tells a pod's worker that the object is no more.
func (r *Runner) vanished(pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, found := r.workers[pod.UID]; found {
		w.vanish()
	}
}

// podOf is the pod that an informer of pods speaks of; an empty one, of no worker, if it speaks of
// none.
func podOf(object any) *corev1.Pod {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		return pod
	}
	return new(corev1.Pod)
}

// pokePods tells the pods of an object's namespace to look at their volumes again.
func (r *Runner) pokePods(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	of, ok := object.(metav1.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.workers {
		if w.pod.Load().Namespace == of.GetNamespace() {
			w.pokeVolumes()
		}
	}
}

// configMap returns the data of a ConfigMap as last seen.
func (r *Runner) configMap(namespace, name string) (data map[string]string, found bool) {
	object, err := r.cached.ConfigMaps(namespace).Get(name)
	if err != nil {
		return nil, false
	}
	return object.Data, true
}
