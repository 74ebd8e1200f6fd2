//go:build !linux

package child

import "syscall"

// Attributes returns the attributes of a child that goes on when this program ends.
func Attributes(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
