package process

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	restartDelay = time.Second      // from its end until it is started again
	grace        = 10 * time.Second // between SIGTERM and SIGKILL when the context ends
)

// Supervised is a program that is kept running: whenever it ends by itself, it is started again.
type Supervised struct {
	Path string
	Args []string // without the program's own name
	Env  []string
	// Log is the file that its output is appended to.
	Log string
	// PIDFile holds its process id while it runs.
	PIDFile string
	// Report is told in a sentence of every start and end. It must not block.
	Report func(string)
}

// Run runs the program until the context ends, and stops it then. It returns early, with an error,
// only if the program cannot be started.
func (s Supervised) Run(ctx context.Context) error {
	for {
		exit, err := s.runOnce(ctx)
		if err != nil || ctx.Err() != nil {
			return err
		}
		s.Report(fmt.Sprintf("%s ended with exit code %d, starting it again in %s; it last said: %s",
			s.Path, exit.Code, restartDelay, lastLine(s.Log)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartDelay):
		}
	}
}

func (s Supervised) runOnce(ctx context.Context) (Exit, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Exit{}, err
	}
	child, err := Start(Spec{
		Path:   s.Path,
		Args:   append([]string{s.Path}, s.Args...),
		Env:    s.Env,
		Output: log,
	})
	_ = log.Close()
	if err != nil {
		return Exit{}, err
	}
	defer os.Remove(s.PIDFile) //nolint:errcheck // nothing hangs on it
	if err := s.note(child.PID); err != nil {
		child.Stop(grace)
		return Exit{}, err
	}
	s.Report(fmt.Sprintf("%s runs as process %d, output in %s", s.Path, child.PID, s.Log))
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Stop(grace)
	}
	return child.Exit(), nil
}

// note writes the process id so that a reader finds it whole, or none.
func (s Supervised) note(pid int) error {
	partial := s.PIDFile + ".partial"
	if err := os.WriteFile(partial, []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(partial, s.PIDFile)
}
