// Package leak fails tests that leave goroutines behind. It is a small part of what
// go.uber.org/goleak does, because this module has no dependencies, not even of its tests.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// M is what VerifyTestMain needs of *testing.M.
type M interface{ Run() int }

// patience is how long goroutines may take to end after the last test.
const patience = 5 * time.Second

// VerifyTestMain runs the tests of a package and ends the program, with an error if goroutines of
// theirs still run.
func VerifyTestMain(m M) {
	code := m.Run()
	if code == 0 {
		if left := await(); left != "" {
			fmt.Fprintf(os.Stderr, "leak: the tests left goroutines behind:\n\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}

// await returns the goroutines that still run when patience is over, or "" once there are none.
func await() string {
	again := time.NewTicker(time.Millisecond) // nobody is told when a goroutine ends
	defer again.Stop()
	late := time.After(patience)
	for {
		left := others()
		if left == "" {
			return ""
		}
		select {
		case <-again.C:
		case <-late:
			return left
		}
	}
}

// others returns the stacks of all goroutines but this one and those of the Go runtime's and the
// test binary's own.
func others() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for i, stack := range strings.Split(string(stacks), "\n\n") {
		if i > 0 && !strings.Contains(stack, "os/signal.") && !strings.Contains(stack, "testing.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
