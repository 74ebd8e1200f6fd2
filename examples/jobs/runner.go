package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
)

const (
	lookEvery  = 200 * time.Millisecond // for jobs, while there are none
	retryAfter = time.Second            // when the database has failed
)

// runner does jobs while its agent permits it.
type runner struct {
	name  string
	store store
	takes time.Duration // how long a job takes at least
}

func (r *runner) say(format string, args ...any) {
	fmt.Printf("%s %s\n", r.name, fmt.Sprintf(format, args...))
}

// stopped takes note of why the work had to stop, or why there is no session.
func (r *runner) stopped(err error) {
	if errors.Is(err, agent.ErrPermissionOver) {
		r.say("stops: %v", err)
	}
}

// run is a candidate until ctx ends. If the database fails for this process, another one is to try.
func (r *runner) run(ctx context.Context, c *agent.Client) error {
	for {
		err := c.Run(ctx, r.work)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.say("hands over: %v", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryAfter):
		}
	}
}

// work does one job after the other until ctx ends. agent.Run calls it under the epoch of the
// lease, which is in ctx, too. It claims the fence before it reads anything: a result that the
// coordinator before it was about to write is there then, or will never be.
func (r *runner) work(ctx context.Context, epoch agent.Epoch) error {
	r.say("coordinates under epoch %v", epoch)
	if err := r.store.claim(ctx); err != nil {
		return r.over(ctx, err)
	}
	for {
		j, ok, err := r.store.next(ctx)
		if err != nil {
			return r.over(ctx, err)
		}
		if !ok {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(lookEvery):
			}
			continue
		}
		output, err := r.do(ctx, j)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // right before each effect
			return ctx.Err()
		}
		if err := r.store.finish(ctx, result{
			Job:    j.ID,
			Output: output,
			Runner: r.name,
		}); err != nil {
			return r.over(ctx, err)
		}
	}
}

// over returns why the work ends. If it is because the epoch is stale, the permission is about to
// end.
func (r *runner) over(ctx context.Context, err error) error {
	if errors.Is(err, fence.ErrStale) {
		r.say("is refused: %v", err)
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// do does a job.
func (r *runner) do(ctx context.Context, j job) (int64, error) {
	long := time.NewTimer(r.takes)
	defer long.Stop()
	output := primes(j.Input)
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-long.C:
		return output, nil
	}
}

// primes returns how many primes there are below n.
func primes(n int64) int64 {
	if n < 3 {
		return 0
	}
	var count int64
	composite := make([]bool, n)
	for i := int64(2); i < n; i++ {
		if composite[i] {
			continue
		}
		count++
		for k := i * i; k < n; k += i {
			composite[k] = true
		}
	}
	return count
}
