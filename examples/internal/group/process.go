package group

import (
	"errors"
	"os/exec"
	"syscall"
)

// process is a program that was started.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// begin starts a program, which ends with this one at the latest.
func begin(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // a story does not ask how it ended
		close(p.ended)
	}()
	return p, nil
}

// kill ends the program and waits until it has ended.
func (p *process) kill() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.ended
}

// signal sends a signal to each program, also if it fails for one.
func signal(s syscall.Signal, to ...*process) error {
	var failed error
	for _, p := range to {
		failed = errors.Join(failed, p.cmd.Process.Signal(s))
	}
	return failed
}
