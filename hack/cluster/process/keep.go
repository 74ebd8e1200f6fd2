package process

import (
	"context"
	"fmt"
	"os"
)

// Keep keeps a program running until the context ends, for a library that starts a program once and
// then leaves it alone. Args are a path and a command line: path.log takes the program's output,
// path.pid holds its process id while it runs.
func Keep(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("keep: name the path of the log and the program to run")
	}
	return Supervised{
		Path:    args[1],
		Args:    args[2:],
		Env:     os.Environ(),
		Log:     args[0] + ".log",
		PIDFile: args[0] + ".pid",
		Report:  func(sentence string) { fmt.Fprintln(os.Stderr, "keep: "+sentence) },
	}.Run(ctx)
}
