//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fence

import (
	"errors"
	"fmt"
)

func (d directory) lock(name string) (unlock func() error, err error) {
	return nil, fmt.Errorf("lock %s: this system has no flock: %w", d.path(name), errors.ErrUnsupported)
}
