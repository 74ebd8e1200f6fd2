package agent

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// An app that goes gives up what it was told. An app whose session the agent cuts, because it did
// not read on, may wake up and read what permits it: the lease waits for that deadline (LH6).
func TestWhoEndsASession(t *testing.T) {
	writing := func(err error) error {
		return &net.OpError{Op: "write", Err: os.NewSyscallError("write", err)}
	}
	for _, c := range []struct {
		name   string
		err    error // of the first event; nil: the app reads it, and goes
		relies bool
	}{
		{"the app goes", nil, false},
		{"the app has gone when something is sent", writing(syscall.EPIPE), false},
		{"the app has gone without reading", writing(syscall.ECONNRESET), false},
		{"the app does not read on", writing(os.ErrDeadlineExceeded), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Hour} }))
			deadline := time.Hour + time.Second
			l.grant(lease.Permission{Epoch: 1, Deadline: deadline})
			ctx, gone := context.WithCancel(t.Context())
			api := appAPI{views: NewViews(), ledger: l}
			api.views.publish(View{Safety: roster.Guarded})
			api.followPermission(ctx, func(string, any) error {
				if c.err == nil {
					gone()
				}
				return c.err
			})
			gone()
			if relies := l.told() >= deadline; relies != c.relies {
				t.Errorf("it is relied on until %v, with a deadline at %v", l.told(), deadline)
			}
			if !l.deserted() {
				t.Error("the session has ended, and the app does not count as gone")
			}
		})
	}
}

// readIf is the outcome of an event to an app that reads on, or does not.
func readIf(reads bool) error {
	if reads {
		return nil
	}
	return os.ErrDeadlineExceeded
}

// A stray GET of a session would end the process's candidacy when it goes. It opens none.
func TestASessionIsMeant(t *testing.T) {
	ledger := NewLedger(MachineClocks{})
	api := AppAPI(NewViews(), ledger, NewAccounts(), slog.New(slog.DiscardHandler))
	for _, header := range []string{"", "close", "Open"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/session", nil)
		r.Header.Set("Podesta-Session", header)
		api.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Podesta-Session: open") {
			t.Errorf("header %q: %d %s", header, w.Code, w.Body)
		}
	}
	if ledger.deserted() {
		t.Error("what was not a session counts as one that has closed")
	}
}

// LH2: every use reads the clock. No timer ends a permission, so an agent that stands still permits
// nothing after the deadline.
func TestEveryUseReadsTheClock(t *testing.T) {
	now := time.Hour
	l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: now} }))
	l.grant(lease.Permission{Epoch: 1, Deadline: now + time.Second})
	s := l.Open()
	for _, c := range []struct {
		now time.Duration
		may bool
	}{{time.Hour, true}, {time.Hour + time.Second - 1, true}, {time.Hour + time.Second, false}} {
		now = c.now
		_, used := l.Use()
		_, usedIn := s.Use()
		if valid := l.Valid(); used != c.may || usedIn != c.may || valid != c.may {
			t.Errorf("at %v: used %t, over a session %t, valid %t", c.now, used, usedIn, valid)
		}
	}
	if until := l.told(); until != time.Hour+time.Second {
		t.Errorf("the app relies on it until %v", until)
	}
	if now += time.Minute; l.remaining() != 0 {
		t.Errorf("a minute after the deadline, %v remain", l.remaining())
	}
}

// Whoever waits hears that a permission begins, ends or gets another epoch; and the loop hears of
// every session that opens or ends.
func TestWhatTheLedgerSays(t *testing.T) {
	l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{} }))
	for i, c := range []struct {
		p    lease.Permission
		said bool
	}{
		{lease.Permission{Epoch: 1, Deadline: time.Second}, true},
		{lease.Permission{Epoch: 1, Deadline: 2 * time.Second}, false},
		{lease.Permission{Epoch: 2, Deadline: 2 * time.Second}, true},
		{lease.Permission{}, true},
	} {
		changed := l.Changed()
		l.grant(c.p)
		select {
		case <-changed:
			if !c.said {
				t.Errorf("grant %d is said", i)
			}
		default:
			if c.said {
				t.Errorf("grant %d is not said", i)
			}
		}
	}
	for _, end := range []func(*Session){(*Session).Cut, (*Session).Close} {
		s := l.Open()
		for _, what := range []string{"opened", "ended"} {
			if what == "ended" {
				end(s)
			}
			select {
			case <-l.sessions:
			default:
				t.Errorf("the loop does not hear that a session has %s", what)
			}
		}
	}
}

// A session is told the next deadline when a third of the time to the last one has passed, and at
// once when the lease has been renewed for a quarter more.
func TestASessionIsToldTheNextDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		every, length time.Duration // in milliseconds, as all here: of renewals, and what they permit
		want          []int64
	}{
		"renewed often":           {200, 3000, []int64{0, 800, 1600}},
		"as an adaptive lease is": {25, 82, []int64{0, 25, 50}},
		"not at all":              {60_000, 3000, []int64{0, 1000, 1667}},
	} {
		bubble.Test(t, func(t *testing.T) {
			begun := time.Now()
			l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(begun)} }))
			renew := func() {
				until := time.Since(begun) + c.length*time.Millisecond
				l.grant(lease.Permission{Epoch: 1, Deadline: until})
			}
			renew()
			ctx, stop := context.WithCancel(t.Context())
			renewals := time.NewTicker(c.every * time.Millisecond)
			defer renewals.Stop()
			defer stop()
			go func() {
				for ctx.Err() == nil {
					select {
					case <-renewals.C:
						renew()
					case <-ctx.Done():
					}
				}
			}()
			api := appAPI{views: NewViews(), ledger: l}
			api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
			var told []int64
			api.followPermission(t.Context(), func(_ string, data any) error {
				told = append(told, time.Since(begun).Round(time.Millisecond).Milliseconds())
				if !data.(permissionJSON).MayAct {
					t.Errorf("%s: after %v ms it may act no more", name, told)
				}
				return readIf(len(told) < len(c.want))
			})
			if !slices.Equal(told, c.want) {
				t.Errorf("%s: it was told after %v ms, want %v", name, told, c.want)
			}
		})
	}
}

// A session whose deadline does not move repeats it, but not without a pause. It tells the app of
// one that moves at last. If the loop neither renews nor revokes it, because it is stuck, the app is
// told that it may not act as soon as the loop has had its time.
func TestASessionRepeatsADeadline(t *testing.T) {
	const deadline, next = 82*time.Millisecond - 1, 164 * time.Millisecond
	for _, moves := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			begun := time.Now()
			l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(begun)} }))
			l.grant(lease.Permission{Epoch: 1, Deadline: deadline})
			if moves {
				time.AfterFunc(deadline-time.Millisecond, func() {
					l.grant(lease.Permission{Epoch: 1, Deadline: next})
				})
			}
			api := appAPI{views: NewViews(), ledger: l}
			api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
			var told []time.Duration
			api.followPermission(t.Context(), func(_ string, data any) error {
				told = append(told, time.Since(begun))
				p := data.(permissionJSON)
				return readIf(p.MayAct && p.DeadlineBoottime < int64(next) && len(told) < 100)
			})
			last, due := told[len(told)-1], deadline+50*time.Millisecond
			if moves {
				due = deadline - time.Millisecond
			}
			if last < due || last > due+time.Millisecond || len(told) > 15 {
				t.Errorf("moves %t: it was told after %v, the last of which is to be %v", moves, told, due)
			}
		})
	}
}

// A renewal may come when a session has just told its app that the deadline has passed. The session
// tells it of the renewal at once.
func TestASessionIsToldALateRenewal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begun := time.Now()
		l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(begun)} }))
		l.grant(lease.Permission{Epoch: 1})
		api := appAPI{views: NewViews(), ledger: l}
		api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
		var told []bool
		api.followPermission(t.Context(), func(_ string, data any) error {
			told = append(told, data.(permissionJSON).MayAct)
			if len(told) == 1 {
				l.grant(lease.Permission{Epoch: 1, Deadline: time.Second})
			}
			return readIf(len(told) < 2)
		})
		if took := time.Since(begun); !slices.Equal(told, []bool{false, true}) || took > 0 {
			t.Errorf("after %v it was told that it may act: %v", took, told)
		}
	})
}

// An agent that stood still finds its app's permission over, and renewals of it that it has not read
// yet. The app is not told in between that it may not act: it would end its session, and give the
// lease away. If there are no renewals, the loop revokes the permission, and that is told at once.
func TestAnAgentThatStoodStillReadsItsRenewals(t *testing.T) {
	const deadline = 82 * time.Millisecond
	for _, c := range []struct {
		stands, reads time.Duration // the session goes on, and the loop has read, after
		renewed       bool
	}{
		{0, 110 * time.Millisecond, true},
		{0, 110 * time.Millisecond, false},
		{300 * time.Millisecond, 340 * time.Millisecond, true},
		{300 * time.Millisecond, 340 * time.Millisecond, false},
	} {
		bubble.Test(t, func(t *testing.T) {
			begun := time.Now()
			l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(begun)} }))
			l.grant(lease.Permission{Epoch: 1, Deadline: deadline})
			time.AfterFunc(c.reads, func() {
				if c.renewed {
					l.grant(lease.Permission{Epoch: 1, Deadline: c.reads + deadline})
				} else {
					l.grant(lease.Permission{})
				}
			})
			api := appAPI{views: NewViews(), ledger: l}
			api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
			var may bool
			api.followPermission(t.Context(), func(_ string, data any) error {
				may = data.(permissionJSON).MayAct
				if time.Since(begun) < c.stands {
					<-time.After(c.stands) // the bubble's clock
				}
				return readIf(may && time.Since(begun) <= max(deadline, c.stands))
			})
			if took := time.Since(begun); may != c.renewed || took != c.reads {
				t.Errorf("%+v: after %v it is told that it may act: %t", c, took, may)
			}
		})
	}
}

// What an app was told in a Classic group has no deadline that it knows: when the group becomes a
// Guarded one, it is told at once that it may not act.
func TestAClassicPermissionIsNotWaitedFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		begun := time.Now()
		l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Since(begun)} }))
		api := appAPI{views: NewViews(), ledger: l}
		api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Classic})
		var told []bool
		api.followPermission(t.Context(), func(_ string, data any) error {
			told = append(told, data.(permissionJSON).MayAct)
			api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
			return readIf(len(told) < 2)
		})
		if took := time.Since(begun); !slices.Equal(told, []bool{true, false}) || took > 0 {
			t.Errorf("after %v it was told that it may act: %v", took, told)
		}
	})
}

// An app is told of each revocation, also if the next permission was granted before it could be
// told.
func TestNoRevocationIsSkipped(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Hour} }))
		deadline := time.Hour + time.Second
		l.grant(lease.Permission{Epoch: 1, Deadline: deadline})
		api := appAPI{views: NewViews(), ledger: l}
		api.views.publish(View{Name: "p1", Coordinator: "p1", Safety: roster.Guarded})
		var told []lease.Epoch
		api.followPermission(t.Context(), func(_ string, data any) error {
			p := data.(permissionJSON)
			told = append(told, p.Epoch)
			if p.MayAct != (p.Epoch != 0) {
				t.Errorf("event %d: %+v", len(told), p)
			}
			switch len(told) {
			case 1: // in place: no revocation
				l.grant(lease.Permission{Epoch: 2, Deadline: deadline})
			case 2:
				l.grant(lease.Permission{})
				l.grant(lease.Permission{Epoch: 3, Deadline: deadline})
			case 4:
				l.grant(lease.Permission{})
			}
			return readIf(len(told) < 5)
		})
		if want := []lease.Epoch{1, 2, 0, 3, 0}; !slices.Equal(told, want) {
			t.Errorf("it was told of the epochs %v, want %v", told, want)
		}
	})
}

// LH2: an agent whose loop is stuck shows a view that is out of date; what it says of this pod
// depends on the clock.
func TestAStuckAgentDoesNotCoordinate(t *testing.T) {
	now := time.Hour
	l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: now} }))
	l.grant(lease.Permission{Epoch: 7, Deadline: now + time.Second, Renewed: now - time.Second})
	api := appAPI{views: NewViews(), ledger: l}
	api.views.publish(View{
		Name:        "p1",
		Coordinator: "p1",
		Safety:      roster.Guarded,
		T:           time.Minute,
	})
	now += 900 * time.Millisecond
	if c, may := api.coordinator(), api.permission(l.Use); c.Name != "p1" || !may.MayAct || may.Remaining != 100 ||
		may.DeadlineBoottime != int64(time.Hour+time.Second) || may.Renewed != int64(time.Hour-time.Second) {
		t.Errorf("before the deadline it says %+v, %+v", c, may)
	}
	now += 100 * time.Millisecond
	if c, may := api.coordinator(), api.permission(l.Use); c.Name != "" || !c.Electing || may.MayAct || may.Name != "" {
		t.Errorf("at the deadline it says %+v, %+v", c, may)
	}
}

// LH10: of several times that an app read nothing, and of which the loop has not heard, it hears of
// the longest. What an app says that may not act says nothing of its lease.
func TestTheLongestPauseCounts(t *testing.T) {
	l := NewLedger(ClocksFunc(func() lease.Reading { return lease.Reading{Boot: time.Hour} }))
	l.paused(time.Second)
	if len(l.gaps) != 0 {
		t.Error("an app that may not act is heard")
	}
	l.grant(lease.Permission{Epoch: 1, Deadline: time.Hour + time.Second})
	for _, gap := range []time.Duration{20, 300, 40} {
		l.paused(gap * time.Millisecond)
	}
	select {
	case got := <-l.gaps:
		if got != 300*time.Millisecond {
			t.Errorf("the loop hears of %v", got)
		}
	default:
		t.Error("the loop hears of nothing")
	}
}
