package connlimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

var few = TurnLimits{
	AtOnce:   3,
	OfSource: 2,
	Waiting:  4,
	Burst:    10,
	Refill:   time.Second,
	Patience: 5 * time.Second,
}

func newTestTurns() *Turns { return NewTurns(few, time.Now) }

// mustTake wants a turn at once.
func mustTake(t *testing.T, all *Turns, source string) (done func()) {
	t.Helper()
	begun := time.Now()
	done, err := all.Take(context.Background(), "", source)
	if err != nil || time.Since(begun) > 0 {
		t.Fatalf("%s: %v after %s, want a turn at once", source, err, time.Since(begun))
	}
	return done
}

func TestNoSourceKeepsTheOthersWaiting(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		all := newTestTurns()
		greedy := []func(){mustTake(t, all, "greedy"), mustTake(t, all, "greedy")}
		refused := make(chan error, 3)
		for range cap(refused) { // two wait, one is too many
			go func() {
				done, err := all.Take(context.Background(), "", "greedy")
				if err == nil {
					done()
				}
				refused <- err
			}()
		}
		if err := <-refused; !errors.Is(err, ErrBusy) {
			t.Errorf("the one too many got %v", err)
		}
		modest := mustTake(t, all, "modest")
		modest()
		for _, done := range greedy {
			done()
		}
		for range 2 {
			if err := <-refused; err != nil {
				t.Errorf("one that waited got %v, want its turn", err)
			}
		}
	})
}

// However many turns the others wait for, a source has its own after one of each of them.
func TestSourcesComeByTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		limits := few
		limits.AtOnce, limits.OfSource, limits.Waiting, limits.Patience = 1, 8, 8, time.Hour
		all := NewTurns(limits, time.Now)
		var order []string
		var waiting sync.WaitGroup
		take := func(source string) {
			waiting.Go(func() {
				done, err := all.Take(context.Background(), "", source)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, source) // one at a time has a turn
				done()
			})
			synctest.Wait() // it waits
		}
		first := mustTake(t, all, "first")
		for range limits.OfSource {
			take("greedy")
			take("greedy too")
		}
		take("modest")
		first()
		waiting.Wait()
		if at := slices.Index(order, "modest"); at != 2 {
			t.Errorf("the modest source had turn %d: %q", at, order)
		}
	})
}

func TestWhoWaitsTooLongIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		all := newTestTurns()
		for source := range few.AtOnce {
			defer mustTake(t, all, fmt.Sprint("slow ", source))()
		}
		begun := time.Now()
		_, err := all.Take(context.Background(), "", "next")
		if !errors.Is(err, ErrBusy) || time.Since(begun) != few.Patience {
			t.Errorf("got %v after %s, want to be told to try again after %s", err, time.Since(begun), few.Patience)
		}
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := all.Take(gone, "", "gone"); err == nil {
			t.Error("one whose call has ended got a turn")
		}
		if s := all.sources["next"]; s.waiting != 0 || s.taken != 0 || len(all.tenants) != 0 {
			t.Errorf("what it waited with was not given back: %+v, %+v", s, all.tenants)
		}
	})
}

func TestWhoComesTooOftenIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		all := newTestTurns()
		for range few.Burst {
			mustTake(t, all, "eager")()
		}
		if _, err := all.Take(context.Background(), "", "eager"); !errors.Is(err, ErrBusy) {
			t.Fatalf("got %v, want to be refused", err)
		}
		mustTake(t, all, "other")()
		<-time.After(2 * few.Refill)
		mustTake(t, all, "eager")()
		mustTake(t, all, "eager")()
		if _, err := all.Take(context.Background(), "", "eager"); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want to be refused: two have been refilled", err)
		}
	})
}

func TestSourcesAreForgotten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		all := newTestTurns()
		stays := mustTake(t, all, "stays")
		for i := range maxSources - 1 {
			mustTake(t, all, fmt.Sprint(i))()
		}
		if _, err := all.Take(context.Background(), "", "one more"); !errors.Is(err, ErrBusy) {
			t.Fatalf("got %v: more than %d sources at once", err, maxSources)
		}
		<-time.After(few.Refill)
		mustTake(t, all, "one more")()
		if len(all.sources) != 2 || all.sources["stays"] == nil {
			t.Errorf("%d sources are remembered, want the one that is here and the new one", len(all.sources))
		}
		stays()
	})
}

// A tenant has the next turn after one of each other tenant, and a source after one of each other
// source, however many sources the others have, and however many tenants they name.
func TestTenantsAndSourcesComeByTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		limits := few
		limits.AtOnce, limits.Waiting, limits.Patience = 1, 10, time.Hour
		all := NewTurns(limits, time.Now)
		var order []string
		var waiting sync.WaitGroup
		take := func(tenant, source string) {
			waiting.Go(func() {
				done, err := all.Take(context.Background(), tenant, source)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, tenant)
				done()
			})
			synctest.Wait()
		}
		first := mustTake(t, all, "first")
		for i := range 8 {
			take("herd", fmt.Sprint("of the herd ", i))
			take(fmt.Sprint("forged ", i), "forger")
		}
		take("modest", "of the modest one")
		first()
		waiting.Wait()
		if at := slices.Index(order, "modest"); at != 2 {
			t.Errorf("the modest tenant had turn %d: %q", at, order)
		}
	})
}

// When as many wait for a tenant as may, the source of which most do has to make room.
func TestWhoNamesATenantMostMakesRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		limits := few
		limits.AtOnce, limits.OfTenant = 1, 3
		all := NewTurns(limits, time.Now)
		first := mustTake(t, all, "first")
		ended := map[string]chan error{"forger": make(chan error, 4), "pod": make(chan error, 4)}
		take := func(source string) {
			go func() {
				done, err := all.Take(context.Background(), "shop", source)
				if err == nil {
					done()
				}
				ended[source] <- err
			}()
			synctest.Wait()
		}
		for range 4 {
			take("forger") // the fourth has no place
		}
		take("pod")
		take("pod") // it would have as many then as the forger has left
		for range 2 {
			if err := <-ended["forger"]; !errors.Is(err, ErrBusy) {
				t.Errorf("one that is too many got %v", err)
			}
		}
		if err := <-ended["pod"]; !errors.Is(err, ErrBusy) {
			t.Errorf("the second one of the pod got %v", err)
		}
		first()
		for _, source := range []string{"forger", "forger", "pod"} {
			if err := <-ended[source]; err != nil {
				t.Errorf("one that waited got %v", err)
			}
		}
	})
}
