package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
	"github.com/podesta-dev/podesta/test/bubble"
)

// shared is a wire to processes that share one CPU: a handshake takes as long as all handshakes
// together that are under way when it begins. Nobody answers for those that are silent.
type shared struct {
	each     time.Duration // what a handshake costs
	silent   map[string]bool
	underWay atomic.Int64
}

func (w *shared) open(ctx context.Context, to Member) (outbound, error) {
	if w.silent[to.Name] {
		<-ctx.Done()
		return nil, &loss{Unreachable, ctx.Err()}
	}
	takes := time.Duration(w.underWay.Add(1)) * w.each
	defer w.underWay.Add(-1)
	if err := sleep(ctx, takes); err != nil {
		return nil, &loss{Unreachable, err}
	}
	return quiet{ctx}, nil
}

func (*shared) close() {}

// quiet is an open stream on which nothing arrives.
type quiet struct{ ctx context.Context }

func (quiet) Send(*linkpb.Frame) error        { return nil }
func (quiet) CloseSend() error                { return nil }
func (quiet) Accepted() error                 { return nil }
func (quiet) Certified() (own, peer validity) { return validity{}, validity{} }
func (quiet) Close()                          {}

func (q quiet) Recv() (*linkpb.Answer, error) {
	<-q.ctx.Done()
	return nil, errors.New("the stream has ended")
}

// large has a process link to a hundred others, and returns when the links to those that answer are
// up, with how long that took, and how many attempts had failed.
func large(t *testing.T, w *shared) (took time.Duration, failed int) {
	t.Helper()
	h := newHub("self", 1, "", beat, slog.New(slog.DiscardHandler))
	h.wire = w
	defer h.Close()
	var members []Member
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("p%02d", i)
		members, names = append(members, Member{Name: name, Address: name}), append(names, name)
	}
	begun := time.Now()
	h.Admit(members)
	h.Link(names)
	up := 0
	for e := range h.Events() {
		switch e := e.(type) {
		case Up:
			up++
		case Down:
			if !w.silent[e.Name] {
				failed++
			}
		}
		if up == len(names)-len(w.silent) {
			break
		}
	}
	took = time.Since(begun)
	go func() {
		for range h.Events() { // until Close
		}
	}()
	return took, failed
}

// A process makes a hundred links while all of them together take longer than an attempt may: none
// is given up, and no time is lost.
func TestManyLinksAtOnceAreAllMade(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &shared{each: 50 * time.Millisecond}
		if all := 100 * w.each; all <= halfOpen(leastPatience) {
			t.Fatalf("all take only %s", all)
		}
		took, failed := large(t, w)
		if failed > 0 {
			t.Errorf("%d attempts failed", failed)
		}
		if most := 100 / attemptsAtOnce * (attemptsAtOnce + 1) * w.each; took > most {
			t.Errorf("took %s, at most %s were to be expected", took, most)
		}
	})
}

// Of a hundred processes forty do not answer. The links to the others are made all the same, in a
// fraction of the time for which attempts to the forty go on.
func TestProcessesThatDoNotAnswerHoldUpOthersForMomentsOnly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &shared{each: time.Millisecond, silent: map[string]bool{}}
		for i := range 40 {
			w.silent[fmt.Sprintf("p%02d", i)] = true
		}
		took, failed := large(t, w)
		if failed > 0 {
			t.Errorf("%d attempts failed", failed)
		}
		if longest := halfOpen(leastPatience); took > longest {
			t.Errorf("took %s, longer than the %s of an attempt", took, longest)
		}
	})
}

// What handshakes took on a quiet machine says nothing about one that has become busy: when none
// has succeeded for as long as an attempt may take, turns are as long as at the start.
func TestTurnsLastAsLongAsHandshakesHaveTakenLately(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns, longest := newTurns(), 3*time.Second
		lasts := func(want time.Duration) {
			t.Helper()
			if got := turns.lasts(time.Now(), longest); got != want {
				t.Errorf("a turn lasts %s, want %s", got, want)
			}
		}
		attempt := func(took time.Duration, succeeds bool) {
			turn := turns.take(t.Context(), longest)
			time.Sleep(took)
			turn.end(succeeds)
		}
		lasts(time.Second)
		attempt(time.Millisecond, true)
		lasts(leastTurn)
		attempt(401*time.Millisecond, true)
		lasts(4 * 101 * time.Millisecond)
		attempt(time.Second, false)
		lasts(4 * 101 * time.Millisecond)
		time.Sleep(longest)
		lasts(time.Second)
		attempt(100*time.Millisecond, true)
		lasts(400 * time.Millisecond)
	})
}

// A link that is removed while it waits does not take a turn later.
func TestWhoGivesUpTakesNoTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns := newTurns()
		for range attemptsAtOnce {
			turn := turns.take(t.Context(), time.Minute)
			defer turn.end(false)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		got := make(chan *turn)
		go func() { got <- turns.take(ctx, time.Minute) }()
		synctest.Wait()
		giveUp()
		if turn := <-got; turn != nil {
			t.Error("it has a turn")
		}
	})
}
