// Package memlimit has Go's garbage collector keep a process under the memory limit of its
// container. Without it the heap may grow to twice what is in use before anything is collected, and
// the kernel kills the process although most of its memory is garbage.
//
// What is not promised: that the process stays under its container's limit, whatever it keeps.
package memlimit

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// Variable is the environment variable with the container's limit, in bytes, as a
// resourceFieldRef to limits.memory writes it. The manifests set it.
const Variable = "MEMORY_LIMIT"

// The share of the limit that Go may use. The rest is for what Go does not count: the program's own
// pages, and what the kernel keeps for its connections.
const (
	numerator   = 9
	denominator = 10
)

// FromEnvironment sets the limit of this process. Where GOMEMLIMIT is set, that counts; where
// neither is, there is no limit.
func FromEnvironment() error {
	text := os.Getenv(Variable)
	if text == "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	limit, err := share(text)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(limit)
	return nil
}

// share returns what Go may use of a limit.
func share(text string) (int64, error) {
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil || bytes <= 0 || bytes > math.MaxInt64/numerator {
		return 0, fmt.Errorf("%s=%q: must be the container's memory limit in bytes, as a "+
			"resourceFieldRef to limits.memory writes it", Variable, text)
	}
	return bytes * numerator / denominator, nil
}
