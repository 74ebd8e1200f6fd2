package podesta

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// The programs of these tests are processes of this test binary, told by these variables what to
// do.
const (
	urlEnv  = "PODESTA_TEST_AGENT"
	workEnv = "PODESTA_TEST_WORK"
	actsEnv = "PODESTA_TEST_ACTS"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(urlEnv); url != "" {
		program(url, works[os.Getenv(workEnv)])
		return
	}
	os.Exit(m.Run())
}

// program is a program built on client-go that takes its time to end, as those do that stop in an
// orderly manner.
func program(url string, work func(context.Context)) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := NewLock(&agent.Client{URL: url}).Lead(ctx, leaderelection.LeaderElectionConfig{
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: work,
			OnStoppedLeading: func() { fmt.Println("stopped") },
		},
	})
	fmt.Println("returned:", err)
	select {}
}

// works are ways to lead.
var works = map[string]func(context.Context){
	"ignores its context":     func(context.Context) { act(context.Background()) },
	"leaves a goroutine":      func(context.Context) { go act(context.Background()) },
	"goes on and then blocks": func(ctx context.Context) { act(ctx); select {} },
	"obeys":                   act,
	"exits when it has ended": func(ctx context.Context) { act(ctx); runtime.Goexit() },
	"exits while it leads":    func(context.Context) { go act(context.Background()); runtime.Goexit() },
	"panics while it leads":   func(context.Context) { go act(context.Background()); panic("on purpose") },
	"panics when it has ended": func(ctx context.Context) {
		go act(context.Background())
		<-ctx.Done()
		panic("on purpose")
	},
}

// act acts until ctx ends. It writes the time of the last act into a file.
func act(ctx context.Context) {
	file, err := os.OpenFile(os.Getenv(actsEnv), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for first := true; ctx.Err() == nil; first = false {
		now, err := boottime.Now()
		if err != nil {
			panic(err)
		}
		if _, err := file.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(now)), 0); err != nil {
			panic(err)
		}
		if first {
			fmt.Println("leads")
		}
		<-again.C
	}
}

// child is such a program, and its agent.
type child struct {
	t      *testing.T
	agent  *fakeagent.Agent
	cmd    *exec.Cmd
	acts   string
	lines  chan string
	stderr bytes.Buffer
	ended  chan struct{}
}

// permission is how long each permission of a child is: a quarter of it is long enough for a busy
// machine.
const permission = 2 * time.Second

func start(t *testing.T, work string) *child {
	t.Helper()
	c := &child{
		t:     t,
		agent: fakeagent.Start(),
		acts:  filepath.Join(t.TempDir(), "acts"),
		lines: make(chan string, 100),
		ended: make(chan struct{}),
	}
	t.Cleanup(c.agent.Close)
	if err := os.WriteFile(c.acts, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	c.agent.Grant(7, permission)
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), urlEnv+"="+c.agent.URL, workEnv+"="+work, actsEnv+"="+c.acts)
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
		_ = c.cmd.Wait()
	}()
	t.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

func (c *child) says(want string) {
	c.t.Helper()
	if got := receive(c.t, c.lines, "it does not say "+want); !strings.HasPrefix(got, want) {
		c.t.Fatalf("it says %q; want %q", got, want)
	}
}

// last is when it acted last, relative to the last deadline that the agent has told.
func (c *child) last() time.Duration {
	c.t.Helper()
	data, err := os.ReadFile(c.acts)
	if err != nil || len(data) != 8 {
		c.t.Fatal(err, data)
	}
	return time.Duration(binary.BigEndian.Uint64(data)) - c.agent.Told()
}

// isEnded waits until the library has ended it, with one line that says why.
func (c *child) isEnded() {
	c.t.Helper()
	receive(c.t, c.ended, "it goes on")
	if code := c.cmd.ProcessState.ExitCode(); code != agent.ExitCode {
		c.t.Errorf("it ended with %v", c.cmd.ProcessState)
	}
	if n := strings.Count(c.stderr.String(), "podesta: this process ends"); n != 1 {
		c.t.Errorf("it says %q", c.stderr.String())
	}
}

// pass waits until an instant has passed.
func pass(t *testing.T, at time.Duration) {
	t.Helper()
	alarm, err := boottime.NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	if err := errors.Join(alarm.Set(at+1), alarm.Wait()); err != nil {
		t.Fatal(err)
	}
}

// losses are the ways to lose a permission while the program runs.
var losses = map[string]func(*child){
	"revoked":             func(c *child) { c.agent.Revoke() },
	"the agent dies":      func(c *child) { c.agent.Cut() },
	"the agent is paused": func(c *child) { c.agent.Freeze() },
	"told to stop, and revoked": func(c *child) {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		c.agent.Revoke()
	},
}

// After a loss Lead returns at once, as RunOrDie does, whatever the work does. If the work goes on,
// the process ends before another one may act.
func TestWorkThatGoesOnEndsWithItsProcess(t *testing.T) {
	for _, work := range []string{"ignores its context", "leaves a goroutine", "goes on and then blocks"} {
		for loss, lose := range losses {
			t.Run(work+"/"+loss, func(t *testing.T) {
				t.Parallel()
				c := start(t, work)
				c.says("leads")
				lose(c)
				c.says("stopped")
				c.says("returned:")
				c.isEnded()
				if late := c.last(); late >= 0 {
					t.Errorf("it acted %v after its permission", late)
				}
			})
		}
	}
}

// A program that was stopped for longer than its permission ends as soon as it goes on.
func TestAProcessThatWasStoppedEndsWhenItGoesOn(t *testing.T) {
	for _, work := range []string{"ignores its context", "leaves a goroutine"} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			c := start(t, work)
			c.says("leads")
			_ = c.cmd.Process.Signal(syscall.SIGSTOP)
			c.agent.Freeze()
			pass(t, c.agent.Told())
			_ = c.cmd.Process.Signal(syscall.SIGCONT)
			c.isEnded()
		})
	}
}

// The end of a program that was killed is known to its agent.
func TestAKilledProgramGivesBack(t *testing.T) {
	c := start(t, "ignores its context")
	c.says("leads")
	c.kill()
	c.givesBack()
}

func (c *child) givesBack() {
	c.t.Helper()
	late, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.agent.Await(late.Done(), func(open, _ int) bool { return open == 0 }); err != nil {
		c.t.Error(err)
	}
}

// Work that ends with its context, however, gives the permission back, and its process goes on.
func TestWorkThatEndsWithItsContextEndsNoProcess(t *testing.T) {
	for _, work := range []string{"obeys", "exits when it has ended"} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			c := start(t, work)
			c.says("leads")
			c.agent.Revoke()
			c.givesBack()
			if late := c.last(); late >= 0 {
				t.Errorf("it acted %v after its permission", late)
			}
			c.says("stopped")
			c.says("returned:")
			pass(t, c.agent.Told())
			select {
			case <-c.ended:
				t.Errorf("it has ended: %v\n%s", c.cmd.ProcessState, c.stderr.String())
			default:
			}
		})
	}
}

// A leader without work would lead for ever.
func TestWorkThatExitsItsGoroutineLeadsNoMore(t *testing.T) {
	c := start(t, "exits while it leads")
	said := []string{receive(t, c.lines, "nothing"), receive(t, c.lines, "nothing"), receive(t, c.lines, "nothing")}
	slices.Sort(said) // the goroutine that it has left says that it leads, too
	if said[0] != "leads" || !strings.Contains(said[1], "Goexit") || said[2] != "stopped" {
		t.Errorf("it says %q", said)
	}
	c.isEnded()
	if late := c.last(); late >= 0 {
		t.Errorf("it acted %v after its permission", late)
	}
}

// A panic ends the process, as without Podesta.
func TestWorkThatPanicsEndsItsProcess(t *testing.T) {
	for _, work := range []string{"panics while it leads", "panics when it has ended"} {
		t.Run(work, func(t *testing.T) {
			t.Parallel()
			c := start(t, work)
			if work == "panics when it has ended" {
				c.says("leads")
				c.agent.Revoke()
			}
			receive(t, c.ended, "it goes on")
			if !strings.Contains(c.stderr.String(), "panic: on purpose") {
				t.Errorf("%v\n%s", c.cmd.ProcessState, c.stderr.String())
			}
			if late := c.last(); late >= 0 {
				t.Errorf("it acted %v after its permission", late)
			}
		})
	}
}
