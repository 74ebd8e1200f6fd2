//go:build !linux

package register

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC // it stands still while the machine sleeps
