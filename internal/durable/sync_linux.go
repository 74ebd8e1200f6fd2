package durable

import (
	"os"
	"syscall"
)

// syncContent makes the content of a file survive whose length has not changed. The times of the
// file need not survive, and fdatasync does not wait for them.
func syncContent(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
