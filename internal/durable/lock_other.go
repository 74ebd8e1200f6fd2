//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package durable

import (
	"errors"
	"fmt"
)

func lock(path string) (unlock func() error, err error) {
	return nil, fmt.Errorf("lock %s: this system has no flock: %w", path, errors.ErrUnsupported)
}
