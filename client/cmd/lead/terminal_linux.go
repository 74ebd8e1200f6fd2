package main

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// inForeground reports whether standard input is a terminal, and lead is in its foreground.
func inForeground() bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCGPGRP,
		uintptr(unsafe.Pointer(&group))) //nolint:gosec // G103: the system call needs a pointer
	return errno == 0 && int(group) == syscall.Getpgrp()
}

// toForeground takes the terminal back from a command that has ended. SIGTTOU would stop a process
// in the background that does that.
func toForeground() {
	group := int32(syscall.Getpgrp()) //nolint:gosec // G115: the kernel's are of 32 bits
	signal.Ignore(syscall.SIGTTOU)
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCSPGRP,
		uintptr(unsafe.Pointer(&group))) //nolint:gosec // G103: the system call needs a pointer
	signal.Reset(syscall.SIGTTOU) // or the next command would ignore it, too
}
