package group

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
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

// Stop stops a child of this program with SIGSTOP, and returns when none of its threads runs any
// more, or when it has ended. After the signal they go on for a moment, longer on a busy machine.
func Stop(child *os.Process) error {
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		// WNOWAIT leaves to others what is waited for here
		err := unix.Waitid(unix.P_PID, child.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD): // somebody else has taken its end
			return nil
		default:
			return err
		}
	}
}
