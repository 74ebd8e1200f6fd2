package podrunner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

// start starts a container, or notes why it could not.
func (w *worker) start(ctx context.Context, i int) {
	c := &w.state.containers[i]
	started, problem := w.launch(c.spec)
	if problem != (refusal{}) {
		c.onProblem(problem, time.Now(), w.runner.RestartDelay)
		return
	}
	c.onStart(started.PID, started.Started)

	probing, end := context.WithCancel(ctx)
	w.lives[i] = life{process: started, end: end}
	w.helpers.Go(func() {
		<-started.Done()
		tell(w, w.exits, i)
	})
	p := prober{
		address: w.state.address.String(),
		result:  probeResult{index: i, pid: started.PID},
		report: func(r probeResult) {
			select {
			case w.probes <- r:
			case <-probing.Done():
			}
		},
	}
	w.helpers.Go(func() { p.run(probing, c.spec) })
}

// launch makes a container's command and runs it.
func (w *worker) launch(c corev1.Container) (*process.Process, refusal) {
	pod, address := w.pod.Load(), w.state.address.String()
	program, _ := programFor(c.Image, w.runner.Images) // judge has refused what has none
	s := surroundings{
		pod:     pod,
		address: address,
		program: program,
		words: replacer(c, func(volume string) string {
			return filepath.Join(w.volumesDir(), volume)
		}, address, w.runner.Resolve),
	}
	path, args, env := s.command(c)
	dir := filepath.Join(w.dir(), "containers", c.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, refusal{"StartError", err.Error()}
	}
	log, err := openLog(filepath.Join(w.runner.Dir, "logs", pod.Namespace+"_"+pod.Name, c.Name+".log"))
	if err != nil {
		return nil, refusal{"StartError", err.Error()}
	}
	defer log.Close() //nolint:errcheck // the process has its own
	started, err := process.Start(process.Spec{
		Path:   path,
		Args:   args,
		Env:    env,
		Dir:    dir,
		Output: log,
	})
	if err != nil {
		return nil, refusal{"StartError", fmt.Sprintf("container %s: %v", c.Name, err)}
	}
	return started, refusal{}
}

func openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}
