//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fence

import (
	"errors"
	"fmt"
)

func lock(string) (unlock func() error, err error) {
	return nil, fmt.Errorf("this system has no flock; a Gate{} in memory works everywhere: %w", errors.ErrUnsupported)
}
