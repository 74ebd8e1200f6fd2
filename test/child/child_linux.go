// Package child has the children of a program end with it.
package child

import "syscall"

// Attributes returns the attributes of a child that gets a signal when this program ends, even by
// SIGKILL. On macOS, where the kernel sends none, the child goes on.
func Attributes(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}
