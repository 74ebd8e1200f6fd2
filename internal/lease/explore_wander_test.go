package lease_test

import (
	"errors"
	"math/rand/v2"
	"testing"
)

var errWander = errors.New("nothing can happen any more")

// wander takes random moves: it gets deeper than a walk, and comes about nothing twice. Letters are
// likelier than the clock, and both than mishaps.
func (x *exploration) wander(seed uint64, moves int) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := x.begin()
	var next []*world
	for range moves {
		all := w.budget
		spare := budget{}
		if rng.IntN(8) == 0 {
			spare.quanta = all.quanta
		}
		if rng.IntN(16) == 0 {
			spare = all
		}
		for p := range procs {
			x.fast[p] = rng.IntN(2) == 0
		}
		next = x.moves(w, spare, next[:0])
		if len(next) == 0 {
			next = x.moves(w, all, next)
		}
		switch {
		case x.failed != nil:
			return x.failed
		case len(next) == 0:
			return errWander
		}
		w = next[rng.IntN(len(next))]
		if held, _ := w.machines[1].Epochs(); held != 0 {
			x.acted++
		}
	}
	return nil
}

// moves are the worlds that can follow if no more than a part of the budget may be spent.
func (x *exploration) moves(w *world, spare budget, next []*world) []*world {
	limited := *w
	limited.budget = spare
	x.each(&limited, func(n *world) {
		n.budget = w.budget.less(spare).plus(n.budget)
		next = append(next, n)
	})
	return next
}

func (b budget) plus(o budget) budget {
	return budget{
		b.losses + o.losses,
		b.restarts + o.restarts,
		b.amnesias + o.amnesias,
		b.illnesses + o.illnesses,
		b.faults + o.faults,
		b.steps + o.steps,
		b.quanta + o.quanta,
	}
}

func (b budget) less(o budget) budget {
	return b.plus(
		budget{-o.losses, -o.restarts, -o.amnesias, -o.illnesses, -o.faults, -o.steps, -o.quanta},
	)
}

// The same in random schedules, in which everything may happen, and any number of letters may be
// late.
func TestWander(t *testing.T) {
	s := situations()[len(situations())-1]
	s.late, s.drift = 1<<10, false
	s.budget = budget{
		losses:    4,
		restarts:  3,
		amnesias:  1,
		illnesses: 2,
		faults:    2,
		steps:     2,
		quanta:    20,
	}
	schedules := *seedsFlag
	if schedules == 0 {
		if schedules = wanderShare; testing.Short() {
			schedules /= 10
		}
	}
	steps, acted := 0, 0
	for seed := range uint64(schedules) {
		s.prompt, s.slow, s.short, s.steady = seed%2 == 0, seed%3 == 0, seed%5 < 2, seed%7 < 3
		x := explorer(s)
		if err := x.wander(seed, 300); err != nil && !errors.Is(err, errWander) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		steps, acted = steps+x.steps, acted+x.acted
	}
	if acted == 0 {
		t.Error("nobody ever acted")
	}
	t.Logf("%d schedules, %d steps, P2 acted after %d moves", schedules, steps, acted)
}
