package podrunner

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// retryBind is how soon a pod that could not be bound is tried again.
const retryBind = time.Second

// worker owns one pod, for the life of its object and of its processes. Fields below the line are
// the goroutine's own.
type worker struct {
	runner  *Runner
	pod     atomic.Pointer[corev1.Pod]
	updates chan struct{} // holds one: the pod has changed
	poke    chan struct{} // holds one: volumes may have changed
	gone    chan struct{} // closed when the object has vanished

	exits  chan int // the index of the container that ended
	probes chan probeResult
	mounts chan error

	// ---
	state     podState
	lives     []life // by container
	writer    *writer
	published corev1.PodStatus
	finished  bool           // the writer has been told to delete the object
	helpers   sync.WaitGroup // goroutines that work for this one
	stop      chan struct{}  // closed when this one ends: nobody listens any more
}

// life is one run of a container.
type life struct {
	process *process.Process
	end     context.CancelFunc // ends its probes
}

func newWorker(r *Runner, pod *corev1.Pod) *worker {
	w := &worker{
		runner:  r,
		updates: make(chan struct{}, 1),
		poke:    make(chan struct{}, 1),
		gone:    make(chan struct{}),
		exits:   make(chan int),
		probes:  make(chan probeResult),
		mounts:  make(chan error),
		stop:    make(chan struct{}),
	}
	w.pod.Store(pod)
	return w
}

// offer, vanish and pokeVolumes are called by the runner, under its lock; they never block.
func (w *worker) offer(pod *corev1.Pod) {
	w.pod.Store(pod)
	notify(w.updates)
	w.pokeVolumes() // labels and annotations may be in a volume
}

func (w *worker) vanish() {
	select {
	case <-w.gone:
	default:
		close(w.gone)
	}
}

func (w *worker) pokeVolumes() { notify(w.poke) }

func notify(mailbox chan struct{}) {
	select {
	case mailbox <- struct{}{}:
	default: // it will look anyway
	}
}

// run sees the pod through.
func (w *worker) run(ctx context.Context) {
	if !w.untilBound(ctx) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	w.admit(ctx)
	w.loop(ctx)

	for i := range w.lives {
		if life := w.lives[i]; life.process != nil {
			life.process.Kill()
			<-life.process.Done()
		}
	}
	cancel()
	close(w.stop)
	w.helpers.Wait()
	if w.state.address.IsValid() {
		w.runner.addresses.release(w.state.address)
	}
	if err := os.RemoveAll(w.dir()); err != nil {
		w.runner.Log.Error("removing a pod's directory", "error", err)
	}
}

// untilBound binds the pod and waits until it sees it bound; false if it never will be ours.
func (w *worker) untilBound(ctx context.Context) bool {
	for {
		var retry <-chan time.Time
		pod := w.pod.Load()
		switch {
		case pod.Spec.NodeName == node:
			return true
		case pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 &&
			pod.DeletionTimestamp == nil:
			if err := bind(ctx, w.runner.Client, pod, node); err != nil {
				w.runner.Log.Warn("binding a pod", "namespace", pod.Namespace, "pod", pod.Name, "error", err)
				retry = time.After(retryBind)
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.gone:
			return false
		case <-w.updates:
		case <-retry:
		}
	}
}

// admit takes the pod in: an address, its volumes, its writer.
func (w *worker) admit(ctx context.Context) {
	pod := w.pod.Load()
	refused := judge(pod, w.runner.Images)
	w.state = newPodState(pod, refused, time.Now())
	w.lives = make([]life, len(w.state.containers))
	w.published.Conditions = pod.Status.Conditions
	w.writer = &writer{
		client:    w.runner.Client,
		log:       w.runner.Log,
		namespace: pod.Namespace,
		name:      pod.Name,
		uid:       pod.UID,
		reports:   make(chan report, 1),
	}
	w.helpers.Go(func() { w.writer.run(ctx) })
	if refused == (refusal{}) {
		address, err := w.runner.addresses.take()
		if err != nil {
			refused = refusal{"NoAddress", err.Error()}
		}
		w.state.address, w.state.refused = address, refused
	}
	if refused != (refusal{}) {
		return
	}
	volumes := &volumes{
		client:  w.runner.Client,
		dir:     w.volumesDir(),
		pod:     &w.pod,
		address: w.state.address.String(),
		configMap: func(name string) (map[string]string, bool) {
			return w.runner.configMap(pod.Namespace, name)
		},
		poke: w.poke,
	}
	w.helpers.Go(func() { volumes.run(ctx, func(err error) { tell(w, w.mounts, err) }) })
}

// tell reports to the worker, unless it has ended.
func tell[T any](w *worker, to chan<- T, what T) {
	select {
	case to <- what:
	case <-w.stop:
	}
}

// loop decides, acts and publishes after everything that happens, until nothing is left to do.
func (w *worker) loop(ctx context.Context) {
	gone := w.gone
	for {
		w.observe()
		plan := w.carryOut(ctx)
		if plan.over && w.state.gone {
			return
		}
		w.publish(plan.over)
		var wake <-chan time.Time
		if !plan.wake.IsZero() {
			wake = time.After(time.Until(plan.wake))
		}
		select {
		case <-ctx.Done():
			return
		case <-gone:
			w.state.gone, gone = true, nil
		case <-w.updates:
		case err := <-w.mounts:
			w.onMount(err)
		case i := <-w.exits:
			w.onExit(i)
		case result := <-w.probes:
			w.onProbe(result)
		case <-wake:
		}
	}
}

// observe notes whether the pod's object was deleted.
func (w *worker) observe() {
	pod := w.pod.Load()
	if pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil {
		if !pod.DeletionTimestamp.Equal(w.state.asked) {
			w.state.asked = pod.DeletionTimestamp
			w.state.deleted(time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second, time.Now())
		}
	}
}

// carryOut acts until there is nothing more to start, and returns the last plan.
func (w *worker) carryOut(ctx context.Context) plan {
	for {
		plan := w.state.decide(time.Now())
		for _, i := range plan.terminate {
			w.state.containers[i].signalled = true
			if err := w.lives[i].process.Signal(syscall.SIGTERM); err != nil {
				w.runner.Log.Warn("ending a container", "error", err)
			}
		}
		for _, i := range plan.kill {
			w.lives[i].process.Kill()
		}
		for _, i := range plan.start {
			w.start(ctx, i)
		}
		if len(plan.start) == 0 {
			return plan
		}
	}
}

// publish hands the status to the writer if it has changed.
func (w *worker) publish(over bool) {
	if w.finished {
		return
	}
	status := w.state.status(w.pod.Load(), w.published.Conditions, time.Now())
	if !over && equality.Semantic.DeepEqual(status, w.published) {
		return
	}
	w.published, w.finished = status, over
	w.writer.offer(report{status: status, over: over})
}

func (w *worker) onMount(err error) {
	if err == nil {
		w.state.mounted, w.state.mountProblem = true, ""
		return
	}
	w.state.mountProblem = err.Error()
}

func (w *worker) onExit(i int) {
	c, exit := &w.state.containers[i], w.lives[i].process.Exit()
	w.lives[i].end()
	w.lives[i] = life{}
	c.onExit(exit, w.runner.RestartDelay)
	w.runner.Log.Info("container ended", "pod", w.pod.Load().Name, "container", c.spec.Name, "process",
		c.lastPID, "code", exit.Code, "signal", exit.Signal)
}

func (w *worker) onProbe(result probeResult) {
	c := &w.state.containers[result.index]
	if c.pid != result.pid {
		return // of an earlier life
	}
	if !result.ok {
		w.runner.Log.Warn("probe failed", "pod", w.pod.Load().Name, "container", c.spec.Name, "probe",
			result.kind, "message", result.message)
	}
	w.state.onProbe(result, time.Now())
}

func (w *worker) dir() string {
	return filepath.Join(w.runner.Dir, "pods", string(w.pod.Load().UID))
}

func (w *worker) volumesDir() string { return filepath.Join(w.dir(), "volumes") }
