package podesta

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/internal/boottime"
	"github.com/podesta-dev/podesta/client/internal/fakeagent"
)

// The operators of these tests are processes of this test binary, told by these variables what to
// do.
const (
	urlEnv  = "PODESTA_TEST_AGENT"
	actsEnv = "PODESTA_TEST_ACTS"
	obeyEnv = "PODESTA_TEST_OBEYS"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(urlEnv); url != "" {
		if err := program(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			select {} // it takes its time to end
		}
		return
	}
	os.Exit(m.Run())
}

// program is an operator by the one line. One of its runnables returns an error when its context
// ends, which makes the manager wait for the other one, for half a minute.
func program(url string) error {
	options := manager.Options{MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		return meta.NewDefaultRESTMapper(nil), nil
	}}
	withoutMetrics(&options)
	if err := NewLock(&agent.Client{URL: url}).LeaderElection(&options); err != nil {
		return err
	}
	m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, options)
	if err != nil {
		return err
	}
	obeys := os.Getenv(obeyEnv) != ""
	err = errors.Join(
		m.Add(manager.RunnableFunc(func(ctx context.Context) error {
			if !obeys {
				ctx = context.Background()
			}
			return act(ctx)
		})),
		m.Add(manager.RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			if obeys {
				return nil
			}
			return errors.New("it ends with its context")
		})),
	)
	if err != nil {
		return err
	}
	return m.Start(signals.SetupSignalHandler())
}

// act acts until ctx ends. It writes the time of the last act into a file.
func act(ctx context.Context) error {
	file, err := os.OpenFile(os.Getenv(actsEnv), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for first := true; ctx.Err() == nil; first = false {
		now, err := boottime.Now()
		if err != nil {
			return err
		}
		if _, err := file.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(now)), 0); err != nil {
			return err
		}
		if first {
			fmt.Println("leads")
		}
		<-again.C
	}
	return nil
}

// child is such an operator, and its agent.
type child struct {
	t      *testing.T
	agent  *fakeagent.Agent
	cmd    *exec.Cmd
	acts   string
	begun  chan struct{}
	stderr bytes.Buffer
	ended  chan struct{}
}

// permission is how long each permission of a child is: a quarter of it is long enough for a busy
// machine.
const permission = 2 * time.Second

// leading starts an operator, and waits until it leads.
func leading(t *testing.T, env ...string) *child {
	t.Helper()
	c := &child{
		t:     t,
		agent: fakeagent.Start(),
		acts:  filepath.Join(t.TempDir(), "acts"),
		begun: make(chan struct{}),
		ended: make(chan struct{}),
	}
	t.Cleanup(c.agent.Close)
	if err := os.WriteFile(c.acts, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	c.agent.Grant(7, permission)
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(append(os.Environ(), urlEnv+"="+c.agent.URL, actsEnv+"="+c.acts), env...)
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
		if n, _ := out.Read(make([]byte, 100)); n > 0 {
			close(c.begun)
		}
		_ = c.cmd.Wait()
	}()
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); <-c.ended })
	receive(t, c.begun, "it does not lead")
	return c
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

// The one line is enough: an operator whose runnables go on after a loss, and whose manager waits
// for them, ends before another one may act.
func TestAnOperatorThatGoesOnEndsWithItsProcess(t *testing.T) {
	for loss, lose := range map[string]func(*child){
		"revoked":             func(c *child) { c.agent.Revoke() },
		"the agent dies":      func(c *child) { c.agent.Cut() },
		"the agent is paused": func(c *child) { c.agent.Freeze() },
		"told to stop, and revoked": func(c *child) {
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
			c.agent.Revoke()
		},
	} {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			c := leading(t)
			lose(c)
			c.isEnded()
			if late := c.last(); late >= 0 {
				t.Errorf("it acted %v after its permission", late)
			}
		})
	}
}

// An operator that was stopped for longer than its permission ends as soon as it goes on.
func TestAnOperatorThatWasStoppedEndsWhenItGoesOn(t *testing.T) {
	c := leading(t)
	_ = c.cmd.Process.Signal(syscall.SIGSTOP)
	c.agent.Freeze()
	alarm, err := boottime.NewAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	if err := errors.Join(alarm.Set(c.agent.Told()), alarm.Wait()); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Process.Signal(syscall.SIGCONT)
	c.isEnded()
}

// One that ends when it is told to, ends by itself.
func TestAnOperatorThatObeysEndsByItself(t *testing.T) {
	c := leading(t, obeyEnv+"=1")
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	receive(t, c.ended, "it goes on")
	if !c.cmd.ProcessState.Success() {
		t.Errorf("%v\n%s", c.cmd.ProcessState, c.stderr.String())
	}
}
