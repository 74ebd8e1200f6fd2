package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// Work may end by runtime.Goexit, which t.FailNow calls: before its context has ended, or after.
// Then nobody leads any more, and Run says so.
func TestWorkThatEndsItsGoroutineGivesUpTheLead(t *testing.T) {
	for name, late := range map[string]bool{"while it may act": false, "when it was too late": true} {
		t.Run(name, func(t *testing.T) {
			a := fakeagent.Start()
			t.Cleanup(a.Close)
			a.Grant(7, map[bool]time.Duration{false: long, true: time.Second}[late])
			result := make(chan error, 1)
			go func() {
				c := Client{URL: a.URL}
				result <- c.Run(t.Context(), func(ctx context.Context, _ Epoch) error {
					if late {
						a.Freeze()
						<-ctx.Done()
					}
					runtime.Goexit()
					return nil
				})
			}()
			p := &program{t: t, agent: a, result: result}
			if err := p.returned(); !errors.Is(err, errExited) {
				t.Errorf("Run returns %v", err)
			}
			p.sessions(0, 1)
		})
	}
}

// panics is what this test binary does when a test starts it as a program: its work panics.
func panics(url string) {
	c := Client{URL: url}
	_ = c.Run(context.Background(), func(context.Context, Epoch) error { panic("the work") })
}

// A panic of the work ends the program, as a panic of any goroutine does, and says where it was.
func TestWorkThatPanicsEndsTheProgram(t *testing.T) {
	a := fakeagent.Start()
	t.Cleanup(a.Close)
	a.Grant(7, long)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), agentEnv+"="+a.URL, panicEnv+"=1")
	out, err := child.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != 2 ||
		!strings.Contains(string(out), "panic: the work") || strings.Contains(string(out), "recovered") ||
		!strings.Contains(string(out), "agent.panics") {
		t.Errorf("%v:\n%s", err, out)
	}
	(&program{t: t, agent: a}).sessions(0, 1)
}
