//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

// awaitEnd waits for the end of a child, and reaps it.
func awaitEnd(child *exec.Cmd) { _ = child.Wait() }

func endWithParent() error { return errors.New("tether: only Linux has it") }
