package process

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tether becomes the program that args name, after asking the kernel to kill it when the program
// that started it ends. It is for children that a library starts, which knows nothing of Pdeathsig.
// It returns only if it failed.
func Tether(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("tether: name the program to run")
	}
	parent := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tether: %w", err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("tether: the program that started this one has ended already")
	}
	//nolint:gosec // to run what it is told is its whole purpose
	err := syscall.Exec(args[0], args, os.Environ())
	return fmt.Errorf("tether: running %s: %w", args[0], err)
}
