package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/stage"
)

// A manager that is down when its fault comes is waited for: neither the file of one that has ended, nor no file, is an error.
func TestAKilledManagerIsAwaited(t *testing.T) {
	dead, living := sleeper(t), sleeper(t)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	r := &runner{options: options{state: t.TempDir()}, cluster: &stage.Cluster{PID: os.Getpid()}}
	file := filepath.Join(r.state, killManager.around()+".pid")
	note := func(pid int) {
		if err := os.WriteFile(file, fmt.Appendln(nil, pid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		note(dead.Process.Pid)
		go func() {
			<-time.After(time.Second)
			_ = os.Remove(file)
			<-time.After(time.Second)
			note(living.Process.Pid)
		}()
		begun := time.Now()
		pid, err := r.running(t.Context(), "manager")
		if err != nil || pid != living.Process.Pid || time.Since(begun) < 2*time.Second {
			t.Errorf("process %d, %v, after %v: want %d after 2s", pid, err, time.Since(begun), living.Process.Pid)
		}
		_ = os.Remove(file)
		if _, err := r.running(t.Context(), "manager"); err == nil || time.Since(begun) < startup {
			t.Errorf("no manager comes, and after %v the error is %v", time.Since(begun), err)
		}
	})
}
