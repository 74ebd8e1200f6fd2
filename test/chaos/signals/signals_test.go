package signals

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/register"
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

// A pause is noted from when all stand still to before the SIGCONT, a kill before the SIGKILL: the
// process neither acted in a time noted as a pause nor after a time noted as its end.
func TestSignalsAreNoted(t *testing.T) {
	c := sleeper(t)
	pids := []int{c.Process.Pid}
	before := register.Now()
	pause, err := Strike(t.Context(), pids, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	after := register.Now()
	kill, err := Strike(t.Context(), pids, 0)
	if err != nil {
		t.Fatal(err)
	}
	killed := register.Now()
	if err := c.Wait(); err == nil {
		t.Error("the process ended without an error, though it was killed")
	}
	if pause.Kill || pause.At < before || pause.Til.Sub(pause.At) < 20*time.Millisecond || pause.Til > after {
		t.Errorf("the pause: %+v, between %d and %d", pause, before, after)
	}
	if !kill.Kill || kill.At < after || kill.At > killed {
		t.Errorf("the kill: %+v, between %d and %d", kill, after, killed)
	}
	if _, err := Strike(t.Context(), pids, 0); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

// A pause whose context ends is over at once: the process goes on, and can end itself.
func TestAPauseEndsWithItsContext(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Strike(ctx, []int{c.Process.Pid}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// A process is awaited until it stands still; one that goes on, or has ended, is an error.
func TestAwaitStopped(t *testing.T) {
	c := sleeper(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := AwaitStopped(over, c.Process.Pid); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := AwaitStopped(t.Context(), c.Process.Pid); err != nil {
		t.Error(err)
	}
	if still, err := stopped(c.Process.Pid); err != nil || !still {
		t.Errorf("it goes on afterwards: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// whether or not its parent has asked how it ended
	if err := AwaitStopped(t.Context(), c.Process.Pid); !errors.Is(err, errEnded) {
		t.Errorf("it was killed: %v", err)
	}
	_ = c.Wait() // it was killed
	if err := AwaitStopped(t.Context(), c.Process.Pid); !errors.Is(err, errEnded) {
		t.Errorf("it is gone: %v", err)
	}
}
