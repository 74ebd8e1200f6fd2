package main

import (
	"context"
	"syscall"
	"time"
)

const (
	// againAtFirst and againAtMost bound how long a command that has ended by itself waits until it is
	// started again. The time doubles until the command has run for againAtMost.
	againAtFirst = 100 * time.Millisecond
	againAtMost  = 10 * time.Second
)

// ending is how a run of a program has ended.
type ending struct {
	code   int
	bySelf bool // nobody has asked it to end
}

// runCommand runs the command, and starts it again with --on-exit restart.
func (l *leader) runCommand(ctx context.Context, env []string) ending {
	if l.onExit == restart {
		return l.runAgain(ctx, l.command, env)
	}
	return l.run(ctx, l.command, env)
}

// run runs a program until it ends by itself, the context ends, or somebody asks lead to end. It
// returns when all that the program has started has ended, too.
func (l *leader) run(ctx context.Context, p program, env []string) ending {
	c, err := l.all.start(p, env)
	if err != nil {
		say("%v", err)
		return ending{code: exitKernel, bySelf: true}
	}
	if c.foreground {
		defer toForeground()
	}
	if l.overdue.Load() { // lead stood still while it started the program
		c.kill()
	}
	bySelf := false
	select {
	case <-c.ended:
		bySelf = true
	case <-ctx.Done():
	case <-l.asked:
		c.signal(l.endSignal)
	}
	c.stop(l.grace)
	return ending{code: c.code(), bySelf: bySelf}
}

// runAgain runs a program, and starts it again when it has ended by itself. It goes on until the
// context ends, or somebody asks lead to end.
func (l *leader) runAgain(ctx context.Context, p program, env []string) ending {
	pause := againAtFirst
	for {
		began := time.Now()
		e := l.run(ctx, p, env)
		if !e.bySelf {
			return e
		}
		e.bySelf = false
		if time.Since(began) >= againAtMost {
			pause = againAtFirst
		}
		say("%s has ended with code %d, and is started again in %v", p.path, e.code, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return e
		case <-l.asked:
			return e
		}
		pause = min(2*pause, againAtMost)
	}
}

// stop ends all that a child consists of: SIGTERM for its group, and then for what it has left
// behind. When the grace is over, the rest gets SIGKILL. It returns when all has ended.
func (c *child) stop(grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	for _, ended := range []<-chan struct{}{c.ended, c.gone} {
		c.signal(syscall.SIGTERM)
		c.signal(syscall.SIGCONT) // what is stopped does not see SIGTERM
		select {
		case <-ended:
		case <-over.C:
			c.kill()
			return
		}
	}
}
