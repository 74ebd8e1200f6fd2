// Package signals sends signals to processes of this kernel and notes the instants between which
// they took effect. Both the backend of the local cluster and the program in the nodes of a kind
// cluster use it. What it notes is on the safe side for the checker: see history.Signal.
package signals

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// Done is what the program in a node says that it did.
type Done struct {
	history.Signal
	// Dropped is how many packets a cut has dropped.
	Dropped int `json:"dropped,omitempty"`
}

// Missed is how that program ends if a container has no process any more.
const Missed = 3

// Strike sends SIGKILL to processes if the length is 0. Else it stops them, and continues them
// after the length, or as soon as ctx ends; the pause begins when they all stand still. A process
// that has ended already is no error.
func Strike(ctx context.Context, pids []int, length time.Duration) (history.Signal, error) {
	if length == 0 {
		s := history.Signal{Kill: true, At: register.Now()}
		return s, send(pids, syscall.SIGKILL)
	}
	stopped := send(pids, syscall.SIGSTOP)
	for _, pid := range pids {
		_ = AwaitStopped(ctx, pid) // if it has ended, it does nothing; if ctx has, the pause is over
	}
	s := history.Signal{At: register.Now()}
	Wait(ctx, length)
	s.Til = register.Now()
	return s, errors.Join(stopped, send(pids, syscall.SIGCONT))
}

func send(pids []int, signal syscall.Signal) (err error) {
	for _, pid := range pids {
		if sent := syscall.Kill(pid, signal); sent != nil && !errors.Is(sent, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("%v to process %d: %w", signal, pid, sent))
		}
	}
	return err
}

// Wait waits for the length, or until ctx ends.
func Wait(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
