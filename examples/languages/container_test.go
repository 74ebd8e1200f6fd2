package languages

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pause is how long it takes until a process that has ended is started again.
const pause = 100 * time.Millisecond

// container is a process that is started again when it has ended, as the containers of a pod are,
// unless it is held.
type container struct {
	command []string
	env     []string
	attr    syscall.SysProcAttr
	log     *os.File

	mu      sync.Mutex
	running *os.Process // nil while none runs
	ends    []error
	changed chan struct{} // closed when a process has begun or ended
	held    chan struct{} // closed when it may be started again; nil: it may be
}

// start starts a container that ends with the test.
func start(t *testing.T, name string, env []string, command ...string) *container {
	t.Helper()
	return startIn(t, name, syscall.SysProcAttr{}, env, command...)
}

// startIn starts a container whose process has such attributes, too.
func startIn(t *testing.T, name string, attr syscall.SysProcAttr, env []string, command ...string) *container {
	t.Helper()
	attr.Setpgid, attr.Pdeathsig = true, syscall.SIGKILL
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	c := &container{
		command: command,
		env:     append(os.Environ(), env...),
		attr:    attr,
		log:     log,
		changed: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-over
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s ended with %v:\n%s", name, c.ends, text[max(0, len(text)-2000):])
		}
		_ = log.Close()
	})
	return c
}

func (c *container) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.once(ctx)
		select {
		case <-ctx.Done():
		case <-c.ended(err):
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// ended notes why the process has ended. It returns a channel that is closed when it may be started
// again.
func (c *container) ended(err error) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, err)
	c.tell()
	if c.held == nil {
		now := make(chan struct{})
		close(now)
		return now
	}
	return c.held
}

// hold keeps the container from being started again until the result is called.
func (c *container) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(chan struct{})
	c.held = held
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = nil
		close(held)
	}
}

// once runs the process, and all that it starts, until it ends.
func (c *container) once(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, c.log, c.log
	cmd.SysProcAttr = &c.attr
	if err := cmd.Start(); err != nil {
		return err
	}
	c.now(cmd.Process)
	defer c.now(nil)
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // what it has left behind
	return cmd.Wait()
}

func (c *container) now(p *os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = p
	c.tell()
}

// tell wakes all who wait. The lock is held.
func (c *container) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// signal sends a signal to all processes of a container.
func (c *container) signal(s syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return errDown
	}
	return syscall.Kill(-c.running.Pid, s)
}

var errDown = errors.New("it does not run")

// await waits until something of the container is as wanted.
func (c *container) await(t *testing.T, what string, wanted func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if wanted() {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%s %s: that is waited for", c.command, what)
		}
	}
}

// awaitEnd returns why the process ended that ran before do.
func (c *container) awaitEnd(t *testing.T, do func()) (why error) {
	t.Helper()
	c.mu.Lock()
	before := len(c.ends)
	c.mu.Unlock()
	do()
	c.await(t, "ends", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.ends) == before {
			return false
		}
		why = c.ends[before]
		return true
	})
	return why
}

// signal sends a signal to containers, as soon as each of them runs, and returns when that was.
func signal(t *testing.T, s syscall.Signal, to ...*container) time.Time {
	t.Helper()
	for _, c := range to {
		c.await(t, "takes a signal", func() bool { return c.signal(s) == nil })
	}
	return time.Now()
}
