package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// Strike kills or pauses the processes that containers are.
func (b *Backend) Strike(
	ctx context.Context, pod *corev1.Pod, length time.Duration, containers ...string,
) (history.Signal, error) {
	pids, app, err := b.processes(pod, containers)
	if err != nil {
		return history.Signal{At: register.Now()}, err
	}
	s, err := signals.Strike(ctx, pids, length)
	s.PID = app
	return s, err
}

// processes returns those of a pod's containers that live, and which of them is the app's writer. A
// container that has ended is left out: it did so by itself, or as it was asked to. If all have,
// that is backend.ErrMissed.
func (b *Backend) processes(pod *corev1.Pod, containers []string) (pids []int, app int, err error) {
	ids := backend.Containers(pod)
	for _, c := range containers {
		pid, err := strconv.Atoi(ids[c])
		if err != nil {
			return nil, 0, fmt.Errorf("pod %s, container %s: %q is not a process", pod.Name, c, ids[c])
		}
		if c == backend.AppContainer {
			app = pid
		}
		pids = append(pids, pid)
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return !descends(b.running.PID, pid) })
	if len(pids) == 0 {
		return nil, 0, fmt.Errorf("pod %s, containers %v: %w", pod.Name, containers, backend.ErrMissed)
	}
	return pids, app, nil
}

// Starve has another process keep all cores busy: in this one it would starve the run as well.
func (b *Backend) Starve(
	ctx context.Context, _ string, length time.Duration,
) (register.Instant, error) {
	//nolint:gosec // the user says which
	out, err := exec.CommandContext(ctx, b.Program, "hog", "--for="+length.String()).Output()
	if err != nil {
		return register.Now(), err
	}
	var s history.Signal
	err = json.Unmarshal(out, &s)
	return s.At, err
}

// descends reports whether a process lives and is a child of that ancestor, or a child's child: no
// other process may ever be sent a signal.
func descends(ancestor, pid int) bool {
	const deep = 4 // what keeps a program running stands between
	for generation := 0; pid > 1 && generation < deep; generation++ {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // the second field is the name, in parentheses
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
		if pid == ancestor {
			return true
		}
	}
	return false
}
