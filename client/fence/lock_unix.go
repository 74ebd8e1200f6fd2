//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fence

import (
	"errors"
	"os"
	"syscall"
)

// lock holds a file of its own, as the gate's is replaced at each epoch, until unlock or the end of the process.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // G703: the program that opens a gate says where
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f.Close, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, err
}
