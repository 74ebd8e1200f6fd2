package process

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Tether becomes the program that args name after the process ID of the program that starts it.
// Before that, it asks the kernel to kill it when that one ends. It is for children that a library
// starts, which knows nothing of Pdeathsig. It returns only if it failed.
func Tether(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("tether: name the process ID of the parent, and the program to run")
	}
	parent, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("tether: %q is no process ID", args[0])
	}
	if err := endWithParent(); err != nil {
		return err
	}
	if os.Getppid() != parent {
		return fmt.Errorf("tether: the program that started this one has ended already")
	}
	//nolint:gosec // to run what it is told is its whole purpose
	err = syscall.Exec(args[1], args[1:], os.Environ())
	return fmt.Errorf("tether: running %s: %w", args[1], err)
}
