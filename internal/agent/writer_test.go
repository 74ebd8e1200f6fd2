package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// V11: while a write is under way the newest of those that wait is kept, which holds what the
// others hold.
func TestTheNewestWriteIsNextInTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		var saved []int64
		w := newWriter(func(s lease.State, _ *roster.Roster) error {
			<-slow
			saved = append(saved, s.Generation)
			return nil
		})
		defer w.close()
		for number := range 3 {
			w.begin(
				job{number: uint64(number + 1), state: lease.State{Generation: int64(number + 1)}},
			)
			synctest.Wait()
		}
		for _, want := range []uint64{1, 3} {
			slow <- struct{}{}
			if o := <-w.outcomes; o != (outcome{number: want}) ||
				saved[len(saved)-1] != int64(want) {
				t.Errorf("outcome %+v, saved %v, want write %d", o, saved, want)
			}
		}
	})
}

// V11: a write that failed is reported as one that failed, and so is every write of an agent that
// has no state directory.
func TestAFailedWriteIsReported(t *testing.T) {
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		save func(lease.State, *roster.Roster) error
		want error
	}{
		"the disk is full":   {func(lease.State, *roster.Roster) error { return full }, full},
		"no state directory": {nil, errNoStateDirectory},
	} {
		w := newWriter(c.save)
		w.begin(job{number: 1})
		if o := <-w.outcomes; !errors.Is(o.err, c.want) {
			t.Errorf("%s: %v", name, o.err)
		}
		w.close()
	}
}

// A disk that hangs does not keep a process from ending.
func TestAWriteThatHangsIsLeft(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		w := newWriter(func(lease.State, *roster.Roster) error {
			<-hangs
			return nil
		})
		w.begin(job{number: 1})
		synctest.Wait()
		begun := time.Now()
		w.close()
		if took := time.Since(begun); took != lastWrite {
			t.Errorf("it was waited for %v, want %v", took, lastWrite)
		}
		close(hangs)
		<-w.stopped
	})
}
