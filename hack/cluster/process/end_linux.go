package process

import (
	"errors"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitEnd waits for the end of a child without reaping it.
func awaitEnd(child *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// endWithParent asks the kernel to kill this process when the one that started it ends.
func endWithParent() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tether: %w", err)
	}
	return nil
}
