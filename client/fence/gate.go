package fence

import (
	"context"
	"errors"
	"sync"

	"github.com/podesta-dev/podesta/client/agent"
)

// ErrClosed means that the gate was closed.
var ErrClosed = errors.New("the gate is closed")

// Gate admits epochs that only grow. The zero Gate has seen none, and forgets when its process
// ends; Open makes one that remembers. It is safe for concurrent use. It must not be copied.
type Gate struct {
	mu      sync.Mutex
	highest agent.Epoch
	keep    func(epoch agent.Epoch) error // saves an epoch before it is admitted; nil: in memory only
	release func() error                  // lets another process open the file; nil: there is none
	closed  bool

	running int           // effects under way, all of one epoch:
	current agent.Epoch   // this one
	drained chan struct{} // closed when the last effect under way has ended; nil while nobody waits
}

// Admit refuses an epoch below the highest seen (*StaleError) and remembers it otherwise. When it
// returns nil, no effect of a lower epoch that was begun by Do is under way, and none will be. But
// a higher epoch may be admitted before the caller acts on the answer: use Do, unless the effect
// itself is checked again or the caller holds a lock of its own around both.
func (g *Gate) Admit(epoch agent.Epoch) error {
	return g.Do(epoch, func() error { return nil })
}

// Do is DoContext without a limit on how long it waits.
func (g *Gate) Do(epoch agent.Epoch, effect func() error) error {
	return g.DoContext(context.Background(), epoch, effect)
}

// DoContext admits the epoch and runs the effect as one step: while the effect runs, no higher
// epoch is admitted, and once a higher one has been seen, no lower one is. Effects of the same
// epoch run concurrently. An effect of a higher epoch waits until those of the lower have ended,
// and meanwhile the lower epoch begins no new one. So an effect should be short, end by itself,
// and not call its own gate (it might wait for itself).
//
// The error is a *StaleError, ErrNoEpoch, ErrClosed, the context's (the epoch counts as seen, the
// effect did not run), that of saving the epoch (it was not admitted), or the effect's own.
func (g *Gate) DoContext(ctx context.Context, epoch agent.Epoch, effect func() error) error {
	if err := g.enter(ctx, epoch); err != nil {
		return err
	}
	defer g.leave() // also when the effect panics
	return effect()
}

// Seen returns the highest epoch that was seen, or 0. Do not decide by it: a higher epoch may be
// admitted right after. Do decides.
func (g *Gate) Seen() agent.Epoch {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest
}

// Close waits for the effects under way, refuses all others, and lets another process open the
// file. A second Close returns at once.
func (g *Gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	for g.running > 0 {
		g.await(nil)
	}
	if g.release == nil {
		return nil
	}
	return g.release()
}

// enter counts one more effect under way. All of them have the same epoch, the highest.
func (g *Gate) enter(ctx context.Context, epoch agent.Epoch) error {
	if err := errors.Join(valid(epoch), ctx.Err()); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if err := g.raise(epoch); err != nil {
			return err
		}
		if g.running == 0 || g.current == epoch {
			g.running++
			g.current = epoch
			return nil
		}
		if g.await(ctx.Done()); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// raise makes the epoch the highest, on disk first, or returns why it cannot.
func (g *Gate) raise(epoch agent.Epoch) error {
	switch {
	case g.closed:
		return ErrClosed
	case epoch < g.highest:
		return &StaleError{Epoch: epoch, Seen: g.highest}
	case epoch > g.highest && g.keep != nil:
		if err := g.keep(epoch); err != nil {
			return err
		}
	}
	g.highest = epoch
	return nil
}

// await releases the lock until no effect is under way, or until done.
func (g *Gate) await(done <-chan struct{}) {
	if g.drained == nil {
		g.drained = make(chan struct{})
	}
	drained := g.drained
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-drained:
	case <-done:
	}
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.running == 0 && g.drained != nil {
		close(g.drained)
		g.drained = nil
	}
}
