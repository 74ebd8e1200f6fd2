package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// However a permission ends, work that goes on is overdue before the deadline, and not before its
// context has ended. Work that returns is not.
func TestWorkThatGoesOnIsOverdueBeforeTheDeadline(t *testing.T) {
	for name, end := range map[string]func(*fakeagent.Agent, context.CancelFunc){
		"revoked":              func(a *fakeagent.Agent, _ context.CancelFunc) { a.Revoke() },
		"the agent dies":       func(a *fakeagent.Agent, _ context.CancelFunc) { a.Cut() },
		"the agent is paused":  func(a *fakeagent.Agent, _ context.CancelFunc) { a.Freeze() },
		"the program is ended": func(_ *fakeagent.Agent, stop context.CancelFunc) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fakeagent.Start()
			t.Cleanup(a.Close)
			a.Grant(7, 2*time.Second)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			begun, returns := make(chan context.Context), make(chan struct{})
			type called struct {
				why  error
				at   time.Duration
				told time.Duration
			}
			overdue := make(chan called, 10)
			c := Client{URL: a.URL, Overdue: func(why error) {
				overdue <- called{why: why, at: reading(t), told: a.Told()}
			}}
			result := make(chan error)
			go func() {
				result <- c.Run(ctx, func(ctx context.Context, _ Epoch) error {
					begun <- ctx
					<-returns
					return nil
				})
			}()
			work := <-begun
			end(a, stop)
			got := <-overdue
			if got.at >= got.told {
				t.Errorf("it is called %v after the deadline", got.at-got.told)
			}
			if work.Err() == nil || !errors.Is(got.why, context.Cause(work)) {
				t.Errorf("it is called because %v, and the context ended because %v", got.why, context.Cause(work))
			}
			stop()
			close(returns)
			<-result
			if len(overdue) > 0 {
				t.Error("it is called twice")
			}
		})
	}
}

func TestWorkThatReturnsIsNotOverdue(t *testing.T) {
	a := fakeagent.Start()
	defer a.Close()
	c := Client{URL: a.URL, Overdue: func(why error) { t.Errorf("it is overdue: %v", why) }}
	over := make(chan time.Duration, 1)
	a.Grant(7, 400*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- c.Run(ctx, func(ctx context.Context, _ Epoch) error {
			a.Revoke()
			<-ctx.Done()
			over <- a.Told()
			return nil
		})
	}()
	pass(t, <-over)
	stop()
	<-result
}

const exitEnv = "PODESTA_TEST_EXIT"

// exits runs Exit in a process of its own, and returns its exit code.
func exits(t *testing.T, stderr *os.File) int {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), exitEnv+"=1")
	program.Stderr = stderr
	var failed *exec.ExitError
	if err := program.Run(); !errors.As(err, &failed) {
		t.Fatalf("it ends with %v", err)
	}
	return failed.ExitCode()
}

func TestExitSaysWhy(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if code := exits(t, w); code != ExitCode {
		t.Errorf("exit code %d", code)
	}
	w.Close()
	said := make([]byte, 4096)
	n, _ := r.Read(said)
	r.Close()
	if text := string(said[:n]); strings.Count(text, "\n") != 1 || !strings.Contains(text, "one; two") {
		t.Errorf("it says %q", text)
	}
}

// A log that nobody reads does not keep the process.
func TestExitWaitsForNoLog(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd := int(w.Fd()) // each call of Fd has writes block
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		_, err := syscall.Write(fd, make([]byte, 4096))
		full = errors.Is(err, syscall.EAGAIN)
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	if code := exits(t, w); code != ExitCode {
		t.Errorf("exit code %d", code)
	}
}
