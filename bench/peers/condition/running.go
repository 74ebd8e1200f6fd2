package condition

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// slowness is how long fsync and fdatasync take on a slow disk, in microseconds.
const slowness = 200_000

// Running is a condition that holds until it is ended.
type Running struct {
	condition Condition
	loops     []*exec.Cmd
	quotas    *quotas
}

// Begin has the condition hold, for the members that Wrap starts.
func Begin(c Condition) (*Running, error) {
	r := &Running{condition: c}
	if c.SlowDisk {
		if _, err := exec.LookPath("strace"); err != nil {
			return nil, fmt.Errorf("condition %s needs strace: %w", c.Name, err)
		}
	}
	if c.Quota {
		var err error
		if r.quotas, err = newQuotas(); err != nil {
			return nil, fmt.Errorf("condition %s: %w", c.Name, err)
		}
	}
	return r, nil
}

// Load starts the busy loops. The command of a loop ends with its standard input.
func (r *Running) Load(loop []string) error {
	for range r.condition.Loops {
		//nolint:gosec,noctx // it is this program, and ends with its input
		l := exec.Command(loop[0], loop[1:]...)
		l.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if _, err := l.StdinPipe(); err != nil {
			return err
		}
		if err := l.Start(); err != nil {
			return err
		}
		r.loops = append(r.loops, l)
	}
	return nil
}

// Wrap returns the command that starts a member under the condition.
func (r *Running) Wrap(member string, command []string) ([]string, error) {
	if r.condition.SlowDisk {
		// strace gets a process group of its own: if it were stopped with the member, it would let most
		// of the member's threads run on.
		command = append([]string{"strace", "--daemonize=pgroup", "--follow-forks", "--seccomp-bpf",
			"--quiet=all", "--output=/dev/null",
			"--trace=fsync,fdatasync", "--inject=fsync,fdatasync:delay_enter=" + strconv.Itoa(slowness)},
			command...)
	}
	if r.quotas != nil {
		return r.quotas.wrap(member, command)
	}
	return command, nil
}

// End ends the condition. The members must have ended.
func (r *Running) End() error {
	for _, l := range r.loops {
		_ = l.Process.Kill()
		_ = l.Wait() // it was killed
	}
	if r.quotas != nil {
		return r.quotas.remove()
	}
	return nil
}

// Loop uses the CPU until the program ends.
func Loop() {
	n := uint64(os.Getpid()) //nolint:gosec // G115: a process id is positive
	for {
		n = n*6364136223846793005 + 1442695040888963407
		if n == 0 {
			fmt.Fprintln(os.Stderr) // never, but the compiler cannot know
		}
	}
}
