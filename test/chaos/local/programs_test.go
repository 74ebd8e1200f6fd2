package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podesta-dev/podesta/test/bubble"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/stage"
)

// sleeper starts a child that does nothing.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func TestOnlyLiveDescendantsAreHit(t *testing.T) {
	c := sleeper(t)
	me, pid := os.Getpid(), c.Process.Pid
	if !descends(me, pid) || !descends(os.Getppid(), pid) || descends(me, me) || descends(pid, pid) || descends(1<<30, pid) {
		t.Error("the sleeper is a child of this process, and so of its parent, and of no other; this process is not its own child")
	}
	if _, err := signals.Strike(t.Context(), []int{pid}, 0); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if descends(me, pid) {
		t.Error("a child that has ended is alive")
	}
}

// A manager that is down when its fault comes is waited for: neither the file of one that has
// ended, nor an empty file, nor none is an error.
func TestAKilledManagerIsAwaited(t *testing.T) {
	dead, living := sleeper(t), sleeper(t)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	b := New(Options{Dir: t.TempDir()})
	b.running = &stage.Cluster{PID: os.Getpid()}
	file := filepath.Join(b.Dir, string(backend.Managers)+".pid")
	note := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bubble.Test(t, func(t *testing.T) {
		note(fmt.Sprintln(dead.Process.Pid))
		go func() {
			<-time.After(time.Second)
			_ = os.Remove(file)
			<-time.After(time.Second)
			note("")
			<-time.After(time.Second)
			note(fmt.Sprintln(living.Process.Pid))
		}()
		begun := time.Now()
		pid, err := b.process(t.Context(), backend.Managers, 0)
		if err != nil || pid != living.Process.Pid || time.Since(begun) < 3*time.Second {
			t.Errorf("process %d, %v, after %v: want %d after 3s", pid, err, time.Since(begun), living.Process.Pid)
		}
		if _, err := b.process(t.Context(), backend.Managers, living.Process.Pid); err == nil || time.Since(begun) < patience {
			t.Errorf("no other manager comes, and after %v the error is %v", time.Since(begun), err)
		}
	})
}

// What has ended by itself cannot be struck, and the strike says so: it would count as a kill.
func TestAStrikeThatHitsNothing(t *testing.T) {
	dead, living := sleeper(t), sleeper(t)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	b := New(Options{Dir: t.TempDir()})
	b.running = &stage.Cluster{PID: os.Getpid()}
	pod := &corev1.Pod{}
	for name, c := range map[string]*exec.Cmd{"agent": dead, backend.AppContainer: living} {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name,
			ContainerID: fmt.Sprintf("process://%d", c.Process.Pid), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	if s, err := b.Strike(t.Context(), pod, 0, "agent"); !errors.Is(err, backend.ErrMissed) {
		t.Errorf("kill: %+v, %v", s, err)
	}
	if s, err := b.Strike(t.Context(), pod, time.Hour, "agent"); !errors.Is(err, backend.ErrMissed) {
		t.Errorf("pause: %+v, %v", s, err)
	}
	if s, err := b.Strike(t.Context(), pod, 0, "agent", backend.AppContainer); err != nil || s.PID != living.Process.Pid {
		t.Errorf("one of two: %+v, %v", s, err)
	}
	if err := living.Wait(); err == nil {
		t.Error("the one that lived ended without an error, though it was killed")
	}
}
