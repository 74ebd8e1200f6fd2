package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/pipe"
)

// asManager in the environment makes this program a manager.
const asManager = "PODESTA_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		return
	}
	m.Run()
}

// A manager that cannot go on ends, and is started again, also if nobody reads why: the pipe of its
// log is full, or the reader has ended.
func TestALogThatNobodyReads(t *testing.T) {
	_, full := pipe.Full(t)
	for what, log := range map[string]*os.File{"full": full, "ended": pipe.Ended(t)} {
		manager := exec.Command(os.Args[0])
		manager.Env = append(os.Environ(), asManager+"=yes", "KUBECONFIG=/nonexistent")
		manager.Stderr = log
		if err := manager.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- manager.Wait() }()
		select {
		case err := <-ended:
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || exit.ExitCode() != 1 {
				t.Errorf("%s: it ended with %v, want status 1", what, err)
			}
		case <-time.After(time.Minute):
			_ = manager.Process.Kill()
			t.Errorf("%s: it has found no cluster, and does not end: %v", what, <-ended)
		}
	}
}
