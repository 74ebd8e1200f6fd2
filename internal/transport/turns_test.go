package transport

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
	"github.com/podesta-dev/podesta/test/bubble"
)

// oneCPU is a wire to processes that share one CPU: a handshake takes as long as all handshakes
// together that are under way when it begins. Nobody answers for those that are silent.
type oneCPU struct {
	each     time.Duration // what a handshake costs
	silent   map[string]bool
	underWay atomic.Int64
	breaks   chan struct{} // each element breaks one of the open streams
	callers  atomic.Bool   // all have connected to this process
}

func (w *oneCPU) open(ctx context.Context, to Member) (outbound, error) {
	if w.silent[to.Name] {
		<-ctx.Done()
		return nil, &loss{Unreachable, ctx.Err()}
	}
	takes := time.Duration(w.underWay.Add(1)) * w.each
	defer w.underWay.Add(-1)
	if err := sleep(ctx, takes); err != nil {
		return nil, &loss{Unreachable, err}
	}
	return quiet{ctx, w.breaks}, nil
}

func (w *oneCPU) share(ctx context.Context, _ Member) (outbound, error) {
	if w.callers.Load() {
		return quiet{ctx, w.breaks}, nil
	}
	return nil, errNotShared
}

func (*oneCPU) close() {}

// quiet is an open stream on which nothing arrives until it breaks.
type quiet struct {
	ctx    context.Context
	breaks <-chan struct{}
}

func (quiet) Send(*linkpb.Frame) error        { return nil }
func (quiet) CloseSend() error                { return nil }
func (quiet) Accepted() error                 { return nil }
func (quiet) Certified() (own, peer validity) { return validity{}, validity{} }
func (quiet) Close()                          {}

func (q quiet) Recv() (*linkpb.Answer, error) {
	select {
	case <-q.breaks:
	case <-q.ctx.Done():
	}
	return nil, &loss{Closed, io.EOF}
}

// large has a process link to a hundred others.
func large(w *oneCPU) *hub {
	h := newHub("self", 1, "", beat, slog.New(slog.DiscardHandler))
	h.wire = w
	var members []Member
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("p%02d", i)
		members, names = append(members, Member{Name: name, Address: name}), append(names, name)
	}
	h.Admit(members)
	h.Link(names)
	return h
}

// untilUp waits until so many links have come up, and returns how long that took. It is an error if
// meanwhile an attempt fails at a process that is not silent.
func (w *oneCPU) untilUp(t *testing.T, h *hub, many int) time.Duration {
	t.Helper()
	begun := time.Now()
	for e := range h.Events() {
		switch e := e.(type) {
		case Up:
			if many--; many == 0 {
				return time.Since(begun)
			}
		case Down:
			if !w.silent[e.Name] && e.Evidence != Closed {
				t.Errorf("the attempt at %s has failed: %s", e.Name, e.Evidence)
			}
		}
	}
	t.Fatal("the hub has ended")
	return 0
}

// A process makes a hundred links while all of them together take longer than an attempt may: none
// is given up, and no time is lost.
func TestManyLinksAtOnceAreAllMade(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &oneCPU{each: 50 * time.Millisecond}
		if all := 100 * w.each; all <= halfOpen(leastPatience) {
			t.Fatalf("all take only %s", all)
		}
		h := large(w)
		defer h.Close()
		took := w.untilUp(t, h, 100)
		if most := 100 / attemptsAtOnce * (attemptsAtOnce + 1) * w.each; took > most {
			t.Errorf("took %s, at most %s were to be expected", took, most)
		}
	})
}

// Of a hundred processes forty do not answer. The links to the others are made within the time of
// one attempt. Much later, a link that breaks is made again after one short turn of each of the
// forty, at most.
func TestProcessesThatDoNotAnswerHoldUpOthersForMomentsOnly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &oneCPU{
			each:   time.Millisecond,
			silent: map[string]bool{},
			breaks: make(chan struct{}),
		}
		for i := range 40 {
			w.silent[fmt.Sprintf("p%02d", i)] = true
		}
		h := large(w)
		defer h.Close()
		if took, most := w.untilUp(t, h, 60), halfOpen(leastPatience); took > most {
			t.Errorf("took %s, longer than the %s of an attempt", took, most)
		}
		for range 10 {
			<-time.After(10 * time.Second)
			w.breaks <- struct{}{}
			if took, most := w.untilUp(t, h, 1), 40/attemptsAtOnce*leastTurn; took > most {
				t.Errorf("a link that broke was up again after %s, at most %s were to be expected",
					took, most)
			}
		}
	})
}

// Who has connected to this process needs no turn, although those that do not answer have them all.
func TestWhoHasConnectedIsNotWaitedFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &oneCPU{silent: map[string]bool{}}
		for i := range 100 {
			w.silent[fmt.Sprintf("p%02d", i)] = true
		}
		h := large(w)
		defer h.Close()
		synctest.Wait()
		w.callers.Store(true)
		for name := range w.silent {
			h.hurry(name)
		}
		if took := w.untilUp(t, h, 100-attemptsAtOnce); took > 0 {
			t.Errorf("took %s", took)
		}
	})
}

// A turn lasts four times as long as the last handshakes have taken; attempts that fail say nothing
// about that.
func TestTurnsLastAsLongAsHandshakesHaveTaken(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns, longest := newTurns(), 3*time.Second
		lasts := func(want time.Duration) {
			t.Helper()
			if got := turns.lasts(longest); got != want {
				t.Errorf("a turn lasts %s, want %s", got, want)
			}
		}
		attempt := func(took time.Duration, succeeds bool) {
			turn := turns.take(t.Context(), longest, nil)
			<-time.After(took)
			turn.end(succeeds)
		}
		lasts(time.Second)
		attempt(time.Millisecond, false)
		lasts(time.Second)
		attempt(time.Millisecond, true)
		lasts(leastTurn)
		attempt(401*time.Millisecond, true)
		lasts(4 * 101 * time.Millisecond)
		attempt(time.Second, false)
		lasts(4 * 101 * time.Millisecond)
	})
}

// A link that is removed while it waits does not take a turn later.
func TestWhoGivesUpTakesNoTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns := newTurns()
		for range attemptsAtOnce {
			turn := turns.take(t.Context(), time.Minute, nil)
			defer turn.end(false)
		}
		ctx, giveUp := context.WithCancel(t.Context())
		got := make(chan *turn)
		go func() { got <- turns.take(ctx, time.Minute, nil) }()
		synctest.Wait()
		giveUp()
		if turn := <-got; turn != nil {
			t.Error("it has a turn")
		}
	})
}
