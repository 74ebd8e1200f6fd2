package transport

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// soon returns a time shortly from now, on a full second, because certificates have that
// resolution.
func soon() time.Time { return time.Now().Truncate(time.Second).Add(3 * time.Second) }

func TestNoLinkOutlivesTheCertificateOfEitherEnd(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 1)
		until := soon()
		f.certify("a", time.Now(), until)
		introduce(f, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		expect(t, a, Down{"b", Rejected}) // b has closed it
		expect(t, b, Down{"a", Rejected}) // and b has closed this one, of its own accord
		if early := time.Until(until); early > 0 {
			t.Errorf("the links were closed %s before the certificate ended", early)
		}
		f.certify("a", time.Now(), time.Now().Add(time.Hour))
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
	})
}

// All four ends of two links use certificates that are renewed only after the links were made.
// Neither process may notice, while both send all the time.
func TestALinkIsRenewedWithoutAWord(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 2)
		until := soon()
		f.certify("a", time.Now().Add(-time.Hour), until) // it is in its last quarter
		introduce(f, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		f.certify("a", time.Now(), time.Now().Add(time.Hour))
		for number := 0; time.Now().Before(until.Add(300 * time.Millisecond)); number += 3 {
			converse(t, a, b, "a", 1, "b", 2, number)
			converse(t, b, a, "b", 2, "a", 1, number)
		}
	})
}

// TestAHundredRenewalsLoseNothing renews the certificates of both ends again and again over a
// network with changing delays, while both processes send.
func TestAHundredRenewalsLoseNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		random := seeded(t)
		var delay, renewals atomic.Int64
		m.Delay = func(string, string) time.Duration {
			return time.Duration(delay.Load()) * time.Microsecond
		}
		m.Logger = slog.New(counter{slog.DiscardHandler, "link renewed", &renewals})
		a, b := m.join("a", 1), m.join("b", 2)
		const life = 400 * time.Millisecond
		due := map[string]time.Time{}
		renew := func() {
			for _, name := range []string{"a", "b"} {
				if now := time.Now(); !now.Before(due[name]) {
					m.certify(name, now, now.Add(life))
					due[name] = now.Add(life/2 + time.Duration(random.Int64N(int64(life/8))))
				}
			}
		}
		renew()
		introduce(m, []string{"a", "b"}, a, b)
		expect(t, a, Up{"b"})
		for number, end := 0, time.Now().Add(100*life); time.Now().Before(end); number += 3 {
			renew()
			delay.Store(random.Int64N(5_000))
			converse(t, a, b, "a", 1, "b", 2, number)
		}
		if n := renewals.Load(); n < 100 {
			t.Errorf("the link was renewed %d times, want 100 at least", n)
		}
	})
}

// counter counts the records of one message.
type counter struct {
	slog.Handler
	message string
	n       *atomic.Int64
}

func (c counter) Enabled(context.Context, slog.Level) bool { return true }

func (c counter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.message {
		c.n.Add(1)
	}
	return nil
}

// converse makes one process send three numbered messages and as many questions and requests, and
// receive all the answers, although they come late.
func converse(t *testing.T, from, to Links, me string, incarnation uint64, you string, yours uint64,
	number int) {
	t.Helper()
	for i := number; i < number+3; i++ {
		from.Send(you, "Bully", 0, say(i))
		from.Ask(you, uint64(i), 0)
		from.Request(you, lease.Request{Kind: lease.PreVote, Round: uint64(i)})
	}
	var answers []func()
	for i := number; i < number+3; i++ {
		expect(t, to, received(me, incarnation, i))
		asked, requested := next(t, to).(Asked), next(t, to).(LeaseRequested)
		answers = append(answers, func() {
			asked.Answer(fmt.Sprint(i), 0)
			requested.Answer(lease.Response{Kind: lease.PreVote, Round: uint64(i)})
		})
	}
	<-time.After(rand.N(3 * time.Millisecond)) // the stream of the questions may have ended by now
	for _, answer := range answers {
		answer()
	}
	for i := number; i < number+3; i++ {
		expect(t, from, Answered{
			From:        you,
			Sequence:    uint64(i),
			Coordinator: fmt.Sprint(i),
		})
		expect(t, from, LeaseResponded{
			From:        you,
			Incarnation: yours,
			StateID:     "state-" + you,
			Response:    lease.Response{Kind: lease.PreVote, Round: uint64(i)},
		})
	}
	if n := from.Dropped(); n > 0 {
		t.Fatalf("%d were dropped", n)
	}
}
