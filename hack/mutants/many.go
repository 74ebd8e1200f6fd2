package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// result is what came of a mutant.
type result struct {
	*mutant
	verdict
	index int // in the tables
	err   error
}

// tryAll tries mutants, some at a time, and returns a result for each that there was time for.
func tryAll(ctx context.Context, mutants []mutant, o options) ([]result, error) {
	if !o.check {
		if err := allSound(ctx, mutants, o.shuffles); err != nil {
			return nil, err
		}
	}
	first := 0
	if o.within > 0 {
		first = rand.IntN(len(mutants)) // so that over the nights all have their turn
	}
	next := make(chan int)
	go func() {
		defer close(next)
		begun := time.Now()
		for i := range mutants {
			if ctx.Err() != nil || o.within > 0 && time.Since(begun) > o.within {
				return
			}
			next <- (first + i) % len(mutants)
		}
	}()
	var mu sync.Mutex
	var results []result
	var workers sync.WaitGroup
	for range max(1, o.parallel) {
		workers.Go(func() {
			for i := range next {
				r := mutants[i].result(ctx, o)
				r.index = i
				mu.Lock()
				results = append(results, r)
				if !o.check {
					fmt.Printf("%3d of %d  %s\n", len(results), len(mutants), r)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	slices.SortFunc(results, func(a, b result) int { return a.index - b.index })
	return results, ctx.Err()
}

// allSound sees that the unit tests of the mutants' packages pass without a mutant.
func allSound(ctx context.Context, mutants []mutant, shuffles int) error {
	seen := make(map[string]bool)
	for _, m := range mutants {
		if seen[m.pkg] {
			continue
		}
		seen[m.pkg] = true
		if err := inside(func(dir string) error { return sound(ctx, m.pkg, dir, shuffles) }); err != nil {
			return err
		}
	}
	return nil
}

// result tries a mutant, or only compiles it.
func (m *mutant) result(ctx context.Context, o options) result {
	r := result{mutant: m}
	r.err = inside(func(dir string) error {
		if o.check {
			return m.compiles(ctx, dir)
		}
		var err error
		r.verdict, err = m.try(ctx, dir, o)
		return err
	})
	return r
}

// inside does work in a new directory, which it removes.
func inside(work func(dir string) error) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	return errors.Join(work(dir), os.RemoveAll(dir))
}

// String is a line for the person who waits.
func (r result) String() string {
	if r.err != nil {
		return r.name + ": could not be tried"
	}
	if !r.caught() && r.equivalent() {
		return r.name + ": equivalent"
	}
	if !r.caught() {
		return strings.TrimRight(r.name+": SURVIVED "+r.missed, " ")
	}
	return fmt.Sprintf("%s: tests %s %s in %s; search %s; %s", r.name, r.tests, r.missed,
		r.ran.Round(10*time.Millisecond), r.search, r.took.Round(100*time.Millisecond))
}
