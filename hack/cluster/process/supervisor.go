package process

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Supervised is a program that is kept running.
type Supervised struct {
	Path string
	Args []string // without the program's own name
	Env  []string
	// Log is the file that its output is appended to.
	Log string
	// PIDFile holds its process id while it runs.
	PIDFile string
	// Restart starts it again, whenever it ends by itself, after RestartDelay.
	Restart      bool
	RestartDelay time.Duration
	// Grace is how long it has between SIGTERM and SIGKILL when the context ends.
	Grace time.Duration
	// Report is told in a sentence of every start and end. It must not block.
	Report func(string)
}

// Run runs the program until the context ends, and stops it then. It returns early, with an error,
// only if the program cannot be started or ends while Restart is false.
func (s Supervised) Run(ctx context.Context) error {
	for {
		exit, err := s.runOnce(ctx)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if !s.Restart {
			return fmt.Errorf("%s ended with exit code %d: see %s; it last said: %s", s.Path, exit.Code,
				s.Log, lastLine(s.Log))
		}
		s.Report(fmt.Sprintf("%s ended with exit code %d, starting it again in %s; it last said: %s",
			s.Path, exit.Code, s.RestartDelay, lastLine(s.Log)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.RestartDelay):
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
		child.Stop(s.Grace)
		return Exit{}, err
	}
	s.Report(fmt.Sprintf("%s runs as process %d, output in %s", s.Path, child.PID, s.Log))
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Stop(s.Grace)
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
