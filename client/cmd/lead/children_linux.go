package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// children starts processes, and reaps all that end: those that it has started, and what these have
// left behind. It is a subreaper (PR_SET_CHILD_SUBREAPER): when a process ends, its children become
// children of lead. So all of a command has ended when lead has no child.
type children struct {
	session *session
	starts  chan forking

	mu     sync.Mutex
	newest *child // nil before the first
}

// child is a started process, with all that it starts.
type child struct {
	all *children
	pid int // of the process, and of its group

	foreground bool // it was given the terminal

	// Of children.mu.
	reaped bool
	status syscall.WaitStatus

	ended chan struct{} // closed when the process itself has ended
	gone  chan struct{} // closed when all that it has started has ended, too
}

// forking is a request to the thread that starts processes.
type forking struct {
	program program
	env     []string
	result  chan<- started
}

type started struct {
	child *child
	err   error
}

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// newChildren makes this process a subreaper. It is to be called once, and lasts as long as the
// process.
func newChildren() (*children, error) {
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	if errno != 0 {
		return nil, fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", errno)
	}
	c := &children{
		session: &session{RoundTripper: http.DefaultTransport},
		starts:  make(chan forking),
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	go func() {
		for range ends {
			c.reap()
		}
	}()
	go func() {
		// The signal that ends a child with its parent is sent when the parent's thread ends. So one
		// thread starts all children, and lasts.
		runtime.LockOSThread()
		for s := range c.starts {
			child, err := c.fork(s.program, s.env)
			s.result <- started{child, err}
		}
	}()
	return c, nil
}

// start starts a program in a new process group, with lead's standard input and output. It adds the
// variables to lead's environment. If lead is in the foreground of a terminal, the program is, too.
// Everything that was started before must have ended.
func (c *children) start(p program, env []string) (*child, error) {
	result := make(chan started)
	c.starts <- forking{program: p, env: env, result: result}
	s := <-result
	return s.child, s.err
}

func (c *children) fork(p program, env []string) (*child, error) {
	c.mu.Lock() // so that nobody reaps it before it is noted
	defer c.mu.Unlock()
	attr := &syscall.ProcAttr{
		Env: append(inherited(), env...),
		Sys: &syscall.SysProcAttr{
			Setpgid:    true,
			Foreground: inForeground(), // Ctty is 0
			Pdeathsig:  syscall.SIGKILL,
		},
	}
	var pid int
	var err error
	c.session.with(func(descriptors ...uintptr) {
		attr.Files = append([]uintptr{0, 1, 2}, descriptors...)
		pid, err = syscall.ForkExec(p.path, p.args, attr) //nolint:gosec // G204: that is its purpose
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.path, err)
	}
	c.newest = &child{
		all:        c,
		pid:        pid,
		foreground: attr.Sys.Foreground,
		ended:      make(chan struct{}),
		gone:       make(chan struct{}),
	}
	return c.newest, nil
}

// inherited is the environment of lead, without what a lead around it has said.
func inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "PODESTA_EPOCH" || name == "PODESTA_GROUP" || name == "PODESTA_NAME"
	})
}

// reap takes note of all that has ended.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch n := c.newest; {
		case errors.Is(err, syscall.EINTR):
		case n != nil && pid > 0 && pid == n.pid && !n.reaped:
			n.reaped, n.status = true, status
			close(n.ended)
		case pid > 0: // an orphan
		case n != nil && n.reaped && errors.Is(err, syscall.ECHILD) && !n.over():
			close(n.gone)
			return
		default:
			return
		}
	}
}

func (c *child) over() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// code is the exit code of the process that has ended, as a shell tells it.
func (c *child) code() int {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.status.Signaled() {
		return 128 + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}

// signal sends a signal to the process group. Once the process itself has ended, a stranger may
// have the number of its group. So then the signal goes to all descendants of lead.
func (c *child) signal(sig syscall.Signal) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.pid, sig)
		return
	}
	for _, p := range descendants() {
		_ = syscall.Kill(p.pid, sig)
	}
}

// killAgain is how often kill looks for processes that have started meanwhile.
const killAgain = 5 * time.Millisecond

// kill ends everything at once, and returns when it has ended.
func (c *child) kill() {
	again := time.NewTicker(killAgain)
	defer again.Stop()
	for {
		c.all.strike()
		select {
		case <-c.gone:
			return
		case <-again.C:
		}
	}
}

// strike sends SIGKILL to all that is there. As PID 1 that is every process of the container, and
// none can be started while the kernel does it. Elsewhere it is what can be found.
func (c *children) strike() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.newest
	if n == nil || n.over() {
		return
	}
	if os.Getpid() == 1 {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		return
	}
	if !n.reaped {
		_ = syscall.Kill(-n.pid, syscall.SIGKILL)
	}
	for _, p := range descendants() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// forward passes a signal on to what runs.
func (c *children) forward(sig syscall.Signal) {
	c.mu.Lock()
	n := c.newest
	c.mu.Unlock()
	if n != nil && !n.over() {
		n.signal(sig)
	}
}

// process is a line of the process table.
type process struct{ pid, parent int }

// descendants finds all processes that this one has started, and those that they have. Some may
// have ended since.
func descendants() (all []process) {
	directories, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	of := map[int][]process{}
	for _, d := range directories {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(string(stat)); ok {
			of[p.parent] = append(of[p.parent], p)
		}
	}
	all = of[os.Getpid()]
	for i := 0; i < len(all); i++ {
		all = append(all, of[all[i].pid]...)
	}
	return all
}

// parseStat reads /proc/PID/stat: the number, the name in parentheses, which may have blanks and
// parentheses, the state, the parent.
func parseStat(stat string) (p process, ok bool) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return p, false
	}
	var state string
	if _, err := fmt.Sscan(stat[end+1:], &state, &p.parent); err != nil {
		return p, false
	}
	_, err := fmt.Sscan(stat, &p.pid)
	return p, err == nil
}
