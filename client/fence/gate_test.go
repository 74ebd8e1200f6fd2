//go:build go1.25

package fence

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

func TestEpochsOnlyGrow(t *testing.T) {
	var g Gate
	for _, c := range []struct {
		epoch agent.Epoch
		want  error
		seen  agent.Epoch
	}{
		{0, ErrNoEpoch, 0}, {-1, ErrNoEpoch, 0}, {MaxEpoch + 1, ErrNoEpoch, 0},
		{5, nil, 5}, {5, nil, 5}, {4, ErrStale, 5}, {7, nil, 7}, {6, ErrStale, 7}, {5, ErrStale, 7}, {7, nil, 7},
		{MaxEpoch, nil, MaxEpoch}, {7, ErrStale, MaxEpoch},
	} {
		if err := g.Admit(c.epoch); !errors.Is(err, c.want) {
			t.Errorf("epoch %d: %v, want %v", c.epoch, err, c.want)
		}
		if g.Seen() != c.seen {
			t.Errorf("after epoch %d it has seen %d, want %d", c.epoch, g.Seen(), c.seen)
		}
	}
}

func TestAStaleErrorSaysWhatToDo(t *testing.T) {
	var g Gate
	_ = g.Admit(7)
	err := g.Admit(5)
	stale := (*StaleError)(nil)
	ok := errors.As(err, &stale)
	if !ok || stale.Epoch != 5 || stale.Seen != 7 {
		t.Fatalf("%#v", err)
	}
	if want := "epoch 0.5 is stale: 0.7 was seen; stop acting, another process coordinates"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestAStaleEffectDoesNotRun(t *testing.T) {
	var g Gate
	_ = g.Admit(7)
	if err := g.Do(5, func() error { t.Error("it ran"); return nil }); !errors.Is(err, ErrStale) {
		t.Error(err)
	}
}

func TestTheEffectsErrorIsTheCallers(t *testing.T) {
	var g Gate
	full := errors.New("disk full")
	if err := g.Do(5, func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := g.Admit(6); err != nil {
		t.Error("the failed effect keeps the gate:", err)
	}
}

func TestAnEffectThatPanicsLeavesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		func() {
			defer func() { _ = recover() }()
			_ = g.Do(5, func() error { panic("boom") })
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.DoContext(ctx, 6, func() error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

// An old coordinator's write is under way, slowly, when the new one comes: the new one waits, and
// the old one's next write is refused at once.
func TestAHigherEpochWaitsForTheEffectUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var mu sync.Mutex // effects of one epoch run beside each other
		var landed []agent.Epoch
		land := func(e agent.Epoch) error {
			mu.Lock()
			defer mu.Unlock()
			landed = append(landed, e)
			return nil
		}
		slow, begun := make(chan struct{}), make(chan struct{})
		go g.Do(5, func() error {
			close(begun)
			<-slow
			return land(5)
		})
		<-begun
		for range 2 { // two of the new epoch, to see that both get in
			go g.Do(7, func() error { return land(7) })
			synctest.Wait()
		}
		if len(landed) != 0 {
			t.Fatalf("%v landed while an effect of epoch 5 was under way", landed)
		}
		if err := g.Admit(5); !errors.Is(err, ErrStale) {
			t.Errorf("epoch 7 was seen, and 5 again got %v", err)
		}
		close(slow)
		synctest.Wait()
		if len(landed) != 3 || landed[0] != 5 || landed[2] != 7 {
			t.Errorf("landed %v", landed)
		}
	})
}

func TestEffectsOfOneEpochRunBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var under atomic.Int32
		end := make(chan struct{})
		for range 2 {
			go g.Do(5, func() error { under.Add(1); <-end; return nil })
		}
		synctest.Wait()
		if under.Load() != 2 {
			t.Errorf("%d of 2 are under way", under.Load())
		}
		close(end)
	})
}

func TestAWaitingEpochThatIsOvertakenIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		slow, begun := make(chan struct{}), make(chan struct{})
		go g.Do(5, func() error { close(begun); <-slow; return nil })
		<-begun
		sixth := make(chan error, 1)
		go func() { sixth <- g.Do(6, func() error { t.Error("6 ran after 7 was seen"); return nil }) }()
		synctest.Wait()
		go g.Admit(7)
		synctest.Wait()
		close(slow)
		if err := <-sixth; !errors.Is(err, ErrStale) {
			t.Error(err)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		slow, begun := make(chan struct{}), make(chan struct{})
		go g.Do(5, func() error { close(begun); <-slow; return nil })
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { got <- g.DoContext(ctx, 6, func() error { t.Error("it ran"); return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if g.Seen() != 6 {
			t.Error("6 was seen, though it did not wait")
		}
		close(slow)
	})
}

func TestAContextThatHasEndedRunsNothing(t *testing.T) {
	var g Gate
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := g.DoContext(ctx, 6, func() error { t.Error("it ran"); return nil })
	if !errors.Is(err, context.Canceled) || g.Seen() != 0 {
		t.Error(err, g.Seen())
	}
}

func TestCloseWaitsForTheEffectUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := false
		g := Gate{release: func() error { released = true; return nil }}
		slow, begun := make(chan struct{}), make(chan struct{})
		go g.Do(5, func() error { close(begun); <-slow; return nil })
		<-begun
		closed := make(chan error)
		go func() { closed <- g.Close() }()
		synctest.Wait()
		if released {
			t.Error("another process could open the file while an effect is under way")
		}
		if err := g.Admit(6); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		close(slow)
		if err := <-closed; err != nil || !released {
			t.Error(err, released)
		}
	})
}

func TestWhatCannotBeKeptIsNotAdmitted(t *testing.T) {
	full := errors.New("no space left")
	var fails error
	g := Gate{keep: func(agent.Epoch) error { return fails }}
	_ = g.Admit(5)
	fails = full
	if err := g.Do(6, func() error { t.Error("it ran"); return nil }); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := g.Admit(5); err != nil {
		t.Error("6 was not admitted, so 5 is not stale, and needs no disk:", err)
	}
	fails = nil
	if err := g.Admit(6); err != nil {
		t.Error("the disk has room again:", err)
	}
}

// Whatever many processes do at once: the effects land in the order of their epochs, those of
// different epochs never overlap, an effect is refused only after a higher epoch was seen, and the
// highest one's runs.
func TestEffectsLandInTheOrderOfTheirEpochs(t *testing.T) {
	const processes, writes, epochs = 8, 400, 200
	var (
		g       Gate
		mu      sync.Mutex  // of what follows
		highest agent.Epoch // that has landed
		under   = map[agent.Epoch]int{}
		landed  int
		stale   int
		wg      sync.WaitGroup
	)
	effect := func(epoch agent.Epoch) error {
		mu.Lock()
		if epoch < highest {
			t.Errorf("epoch %d landed after %d", epoch, highest)
		}
		highest = epoch
		under[epoch]++
		if len(under) > 1 {
			t.Errorf("effects of several epochs at once: %v", under)
		}
		landed++
		mu.Unlock()
		runtime.Gosched() // others try to get in between
		return nil
	}
	end := func(epoch agent.Epoch) {
		mu.Lock()
		defer mu.Unlock()
		if under[epoch]--; under[epoch] == 0 {
			delete(under, epoch)
		}
	}
	for p := range processes {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(p)))
			for i := range writes {
				epoch := agent.Epoch(1 + int64(i*epochs/writes) + random.Int64N(20)) // they grow, and lag
				err := g.Do(epoch, func() error { defer end(epoch); return effect(epoch) })
				if err == nil {
					continue
				}
				s := (*StaleError)(nil)
				ok := errors.As(err, &s)
				if !ok || s.Epoch != epoch || s.Seen <= epoch || s.Seen > g.Seen() {
					t.Errorf("epoch %d: %v", epoch, err)
				}
				mu.Lock()
				stale++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if highest != g.Seen() || landed == 0 || stale == 0 {
		t.Errorf("seen %d, landed up to %d; %d landed, %d were stale: want some of both", g.Seen(), highest, landed, stale)
	}
}
