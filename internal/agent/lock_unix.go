//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package agent

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock holds a file until unlock or the end of the process.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f.Close, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errInUse
	} else {
		err = fmt.Errorf("its storage must support flock: %w", err)
	}
	return nil, errors.Join(err, f.Close())
}
