//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

func (d directory) lock(name string) (unlock func() error, err error) {
	path := d.path(name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		sign(f)
		return f.Close, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("%w (%s is held by %s)", ErrLocked, path, holder(f))
	default:
		err = fmt.Errorf("lock %s: its file system must support flock: %w", path, err)
	}
	_ = f.Close() // nothing was written
	return nil, err
}

// sign names this process in the lock file. Only people read it; if it fails, the lock still holds.
func sign(f *os.File) {
	host, _ := os.Hostname()
	_ = f.Truncate(0)
	_, _ = f.WriteAt(fmt.Appendf(nil, "process %d on host %q\n", os.Getpid(), host), 0)
}

// holder returns what sign wrote.
func holder(f *os.File) string {
	const most = 512
	data, err := io.ReadAll(io.LimitReader(f, most))
	if text := strings.TrimSpace(string(data)); err == nil && text != "" {
		return text
	}
	return "another process"
}
