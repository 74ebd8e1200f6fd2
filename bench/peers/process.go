package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a member's process, with those that it has started: one process group.
type process struct {
	command *exec.Cmd
	group   int
	says    io.Reader
	struck  bool          // by a signal that ends it; guarded by the team's lock
	failed  bool          // it did not end with 0; to be read when it has ended
	used    time.Duration // CPU time of all of the group; to be read when it has ended
	ended   chan struct{} // closed when all of the group have ended
}

// startProcess starts a command whose standard error is appended to a file. The command's standard
// input stays open for as long as this program runs.
func startProcess(command []string, logFile string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()            // the member has its own descriptor
	c := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // it is killed by its group
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := c.StdinPipe(); err != nil {
		return nil, err
	}
	says, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &process{
		command: c,
		group:   c.Process.Pid,
		says:    says,
		ended:   make(chan struct{}),
	}, nil
}

// signal sends a signal to all of the group.
func (p *process) signal(s syscall.Signal) error {
	select {
	case <-p.ended:
		return errors.New("it has ended")
	default:
		return syscall.Kill(-p.group, s)
	}
}

// adopt has the kernel give this program the children of members that have ended, instead of the
// machine's first process, which may take its time to reap them: until then they keep their group
// alive.
func adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// patience is how long the rest of a group may take to end after its first process has.
const patience = 5 * time.Second

// wait waits until all of the group have ended: what they listened on and locked is free then.
func (p *process) wait() {
	p.failed = p.command.Wait() != nil
	p.used = p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
	for begun := time.Now(); time.Since(begun) < patience && syscall.Kill(-p.group, 0) == nil; {
		var usage syscall.Rusage
		reaped, err := syscall.Wait4(-p.group, nil, syscall.WNOHANG, &usage)
		if err != nil || reaped == 0 {
			<-time.After(2 * time.Millisecond)
			continue
		}
		p.used += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	close(p.ended)
}
