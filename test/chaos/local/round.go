package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/podesta-dev/podesta/test/register"
)

// field is the groups as they are when a round begins; each pod is hit once in a round at most.
type field struct {
	members map[*group]map[string]member

	mu  sync.Mutex
	hit map[string]bool // pods
}

// round lets the faults strike, and returns when all are over and each group has a process that was told anew that it may act.
func (r *runner) round(ctx context.Context, faults round) error {
	f := &field{members: map[*group]map[string]member{}, hit: map[string]bool{}}
	if err := r.muster(ctx, f); err != nil {
		return err
	}
	r.rounds++
	for _, fault := range faults {
		r.faults[string(fault.kind)+" "+string(fault.part)]++
	}
	errs := make([]error, len(faults))
	var all sync.WaitGroup
	for i, fault := range faults {
		all.Go(func() {
			wait(ctx, fault.delay)
			if fault.hitsPods() {
				errs[i] = r.each(func(g *group) error { return r.hitPod(ctx, fault, g, f) })
			} else {
				errs[i] = r.hitAround(ctx, fault)
			}
		})
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), ctx.Err())
}

// muster awaits that all pods have recovered from the round before.
func (r *runner) muster(ctx context.Context, f *field) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startup, fmt.Errorf("not within %v after the last fault", startup))
	defer cancel()
	var mu sync.Mutex
	return r.each(func(g *group) error {
		members, err := g.muster(ctx)
		mu.Lock()
		defer mu.Unlock()
		f.members[g] = members
		return err
	})
}

// victim picks the pod for a fault: the one that acts, or another, that was not hit in this round.
func (f *field) victim(fault fault, g *group, acts string) (member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := slices.DeleteFunc(slices.Sorted(maps.Keys(f.members[g])), func(name string) bool { return f.hit[name] })
	name := acts
	if !fault.coordinator || !slices.Contains(left, acts) {
		left = slices.DeleteFunc(left, func(name string) bool { return name == acts })
		if len(left) == 0 {
			return member{}, fmt.Errorf("group %s has no pod left for %s", g.Group, fault)
		}
		name = left[fault.which%len(left)]
	}
	f.hit[name] = true
	return f.members[g][name], nil
}

// hitPod lets a fault strike a pod of one group.
func (r *runner) hitPod(ctx context.Context, fault fault, g *group, f *field) error {
	before := r.view.last(g.Group)
	m, err := f.victim(fault, g, before.Process)
	if err != nil {
		return err
	}
	fault.coordinator = m.name == before.Process // an earlier fault of the round may have hit it
	pids := slices.DeleteFunc(m.parts(fault.part), func(pid int) bool { return !descends(g.cluster, pid) })
	return r.strike(ctx, fault, g, m.name, before, func(struck func()) error {
		switch fault.kind {
		case kill:
			return r.journal.kill(pids, struck)
		case pause:
			return r.journal.pause(ctx, pids, fault.length, struck)
		default:
			ctx, cancel := context.WithTimeoutCause(ctx, startup, fmt.Errorf("%s is not gone after %v", m.name, startup))
			defer cancel()
			struck()
			return g.replace(ctx, m.name)
		}
	})
}

// hitAround lets a fault strike what is around the pods, and looks what that does to each group.
func (r *runner) hitAround(ctx context.Context, fault fault) error {
	pid, err := r.running(ctx, fault.kind.around())
	if err != nil {
		return err
	}
	hit := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		struck := func() { close(hit) }
		if fault.kind == killManager {
			done <- r.journal.kill([]int{pid}, struck)
		} else {
			done <- r.journal.pause(ctx, []int{pid}, fault.length, struck)
		}
	}()
	err = r.each(func(g *group) error {
		return r.strike(ctx, fault, g, "", r.view.last(g.Group), func(struck func()) error { <-hit; struck(); return nil })
	})
	return errors.Join(err, <-done)
}

// strike does it to one group, and prints what came of it once somebody was told anew that it may act.
func (r *runner) strike(ctx context.Context, fault fault, g *group, victim string, before register.Entry, do func(struck func()) error) error {
	hit := make(chan register.Instant, 1)
	done := make(chan error, 1)
	go func() { done <- do(func() { hit <- register.Now() }) }()
	at := <-hit
	waiting, cancel := context.WithTimeoutCause(ctx, fault.length+recovery, fmt.Errorf("nothing within %v", fault.length+recovery))
	defer cancel()
	after, err := r.view.await(waiting, r.view.expect(g.Group, at))
	if err != nil && ctx.Err() == nil {
		r.fail(fmt.Sprintf("%s (%s): %v", fault, victim, err))
	}
	line := row{at: at.Sub(r.begun), fault: fault, group: g.Group, victim: victim, before: before, after: after, ok: err == nil}
	if err == nil {
		line.took = max(after.Heard, at).Sub(at)
	}
	if ctx.Err() == nil {
		r.out.row(line)
	}
	return <-done
}
