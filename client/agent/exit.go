package agent

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// ExitCode is the exit code of a process that Exit has ended. It is EX_TEMPFAIL of sysexits(3): the
// program is to be started again, as another candidate.
const ExitCode = 75

// logWithin is how long Exit waits for its line to be written. It is less than what is left of any
// permission when Client.Overdue is called.
const logWithin = 2 * time.Millisecond

// Exit ends this process with ExitCode, whatever its goroutines do, and runs no deferred function.
// It is for Client.Overdue: another process may act soon, and this one would act beside it. Exit
// writes one line to stderr that says why. A stderr that takes nothing does not hold Exit up.
func Exit(why error) {
	time.AfterFunc(logWithin, func() { os.Exit(ExitCode) })
	reason := strings.ReplaceAll(why.Error(), "\n", "; ")
	_, _ = fmt.Fprintf(os.Stderr, "podesta: this process ends with exit code %d: its work goes on, "+
		"and another process may act soon (%s). Work must return when its context ends.\n",
		ExitCode, reason)
	os.Exit(ExitCode)
}
