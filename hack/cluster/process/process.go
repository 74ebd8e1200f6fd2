// Package process runs child processes that are never left behind.
//
// A child leads a process group of its own. When it ends, what is left of its group is killed with
// it, as a container ends with its first process. When this program ends, even by SIGKILL, the
// kernel kills the child (Pdeathsig); the child's own children are then on their own.
//
// The kernel ties Pdeathsig to the *thread* that started the child. Go keeps its threads, except
// those of a goroutine that ends while locked to one: programs that use this package must not do
// that.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/test/child"
)

// Spec says what to run.
type Spec struct {
	// Path is the program's file.
	Path string
	// Args is the argument list, its first element the name that the program is told it has.
	Args []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working directory.
	Dir string
	// Output takes what the program prints. Only a file is taken: no goroutine copies.
	Output *os.File
}

// Exit tells how a process ended.
type Exit struct {
	// Code is the exit code, 128 + the signal's number if a signal ended the process.
	Code int
	// Signal is the number of the signal that ended it, or 0.
	Signal int
	// Started and Finished are when it started and ended.
	Started, Finished time.Time
}

// Process is a child. Its methods may be called from any goroutine.
type Process struct {
	// PID is its process id, and the id of its group.
	PID int
	// Started is when it was started.
	Started time.Time

	cmd  *exec.Cmd
	done chan struct{}
	exit Exit // valid once done is closed

	mu   sync.Mutex
	over bool // the id may belong to somebody else from now on
}

// Start starts a process. The caller keeps the Output file and may close it at once.
func Start(spec Spec) (*Process, error) {
	cmd := &exec.Cmd{
		Path:        spec.Path,
		Args:        spec.Args,
		Env:         spec.Env,
		Dir:         spec.Dir,
		SysProcAttr: child.Attributes(syscall.SIGKILL),
	}
	cmd.SysProcAttr.Setpgid = true
	if spec.Env == nil {
		cmd.Env = []string{}
	}
	if spec.Output != nil {
		cmd.Stdout, cmd.Stderr = spec.Output, spec.Output
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Path, err)
	}
	p := &Process{
		PID:     cmd.Process.Pid,
		Started: time.Now(),
		cmd:     cmd,
		done:    make(chan struct{}),
	}
	go p.wait()
	return p, nil
}

// Done is closed when the process has ended and its group is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how the process ended. It may be called once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Signal sends a signal to the process alone; one that has ended is no error.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling process %d: %w", p.PID, err)
	}
	return nil
}

// Kill sends SIGKILL to the process and to all of its group.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	}
}

// Stop sends SIGTERM, then SIGKILL when the grace period is over, and waits for the end.
func (p *Process) Stop(grace time.Duration) {
	_ = p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
		<-p.done
	}
}

// wait awaits the end without reaping, so that the group's id is still ours while the rest of the
// group is killed.
func (p *Process) wait() {
	defer close(p.done)
	awaitEnd(p.cmd)
	p.mu.Lock()
	_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	p.over = true
	p.mu.Unlock()
	_ = p.cmd.Wait() // its error repeats what ProcessState says

	p.exit = Exit{
		Code:     p.cmd.ProcessState.ExitCode(),
		Started:  p.Started,
		Finished: time.Now(),
	}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.Signal = int(status.Signal())
		p.exit.Code = 128 + p.exit.Signal
	}
}
