package transport

import (
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// newcomer sends to a as b does, stream by stream.
type newcomer struct {
	t *testing.T
	f *loopback
	a Links
}

func inSuccession(t *testing.T, story func(*testing.T, newcomer)) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after all others
	f := newLoopback(t)
	t.Cleanup(f.end)
	a := f.join("a", 1)
	a.Admit([]Member{f.member("b"), f.member("c")})
	story(t, newcomer{t, f, a})
}

// open opens a stream that a accepts.
func (n newcomer) open(incarnation uint64, succeeds bool) *connection {
	n.t.Helper()
	out, err := openRaw(n.t, n.f, newKeyring(n.t, n.f.authority, n.f.authority, n.f.name("b"),
		time.Now()))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(out.Close)
	if err := greet(out, greeting(incarnation, "m", succeeds)); err != nil {
		n.t.Fatal(err)
	}
	return out
}

func (n newcomer) say(out *connection, number int) {
	n.t.Helper()
	if err := out.sendFrame(mustEncode(n.t, number)); err != nil {
		n.t.Fatal(err)
	}
}

func (n newcomer) ended(out *connection, want Evidence) {
	n.t.Helper()
	if _, err := out.receiveReply(); err == nil || evidenceOf(err) != want {
		n.t.Errorf("the stream ended with %v, want %s", err, want)
	}
}

func TestASuccessorIsHeardWhenTheOldStreamHasEnded(t *testing.T) {
	inSuccession(t, func(t *testing.T, b newcomer) {
		old := b.open(6, false)
		next := b.open(6, true)
		b.say(next, 3) // waits until the old one has ended
		b.say(old, 1)
		if err := old.sendFrame(askFrame(7, 0)); err != nil {
			t.Fatal(err)
		}
		expect(t, b.a, received("b", 6, 1))
		asked := nextAs[Asked](t, b.a)
		b.say(old, 2)
		if err := old.sendFrame(endFrame()); err != nil {
			t.Fatal(err)
		}
		expect(t, b.a, received("b", 6, 2))
		expect(t, b.a, received("b", 6, 3))
		if _, err := old.receiveReply(); !errors.Is(err, io.EOF) {
			t.Errorf("the old stream ended with %v, want it in order", err)
		}
		asked.Answer("c", 0) // to a question of the old stream
		if reply, err := next.receiveReply(); err != nil || reply.GetAnswer().GetSequence() != 7 ||
			reply.GetAnswer().GetCoordinator() != "c" {
			t.Errorf("the answer is %v, %v", reply, err)
		}
		b.a.Admit(nil)
		b.ended(next, Rejected)
	})
}

func TestOnlyOneStreamWaitsToSucceed(t *testing.T) {
	inSuccession(t, func(_ *testing.T, b newcomer) {
		old := b.open(6, false)
		first := b.open(6, true)
		second := b.open(6, true)
		b.ended(first, Rejected)
		b.a.Admit([]Member{b.f.member("c")})
		b.ended(old, Rejected)
		b.ended(second, Rejected)
	})
}

func TestAStreamOfAnotherLifeSucceedsNobody(t *testing.T) {
	inSuccession(t, func(t *testing.T, b newcomer) {
		old := b.open(6, false)
		next := b.open(6, true)
		newer := b.open(7, true)
		b.ended(old, Rejected)
		b.ended(next, Rejected)
		b.say(newer, 1)
		expect(t, b.a, received("b", 7, 1))
	})
}

func TestASuccessorThatEndsLeavesTheOldStreamAsItIs(t *testing.T) {
	inSuccession(t, func(t *testing.T, b newcomer) {
		old := b.open(6, false)
		b.open(6, true).Close()
		b.say(old, 1)
		expect(t, b.a, received("b", 6, 1))
		next := b.open(6, true)
		b.say(next, 2)
		// not in order: what a has not read is lost, and the other end has to notice that
		old.Close()
		expect(t, b.a, received("b", 6, 2))
		expectHonestVoice(t, b.f, b.a)
	})
}

// The stream that a renewal is to succeed may be gone: the receiver has lost the old stream
// before.
func TestASuccessorOfNobodyIsHeard(t *testing.T) {
	inSuccession(t, func(t *testing.T, b newcomer) {
		out := b.open(6, true)
		b.say(out, 1)
		expect(t, b.a, received("b", 6, 1))
	})
}

func nextAs[E Event](t *testing.T, links Links) E {
	t.Helper()
	e, ok := next(t, links).(E)
	if !ok {
		t.Fatalf("event %#v, want %T", e, *new(E))
	}
	return e
}

func TestValidities(t *testing.T) {
	now := time.Now()
	short, long, endless := validity{
		now,
		now.Add(time.Hour),
	}, validity{now, now.Add(2 * time.Hour)}, validity{}
	for what, ok := range map[string]bool{
		"the shorter counts": short.within(long) == short && long.within(short) == short,
		"an end counts": short.within(endless) == short &&
			endless.within(short) == short,
		"no end":                       endless.within(endless) == endless,
		"longer outlasts shorter":      long.outlasts(short) && !short.outlasts(long),
		"none outlasts itself":         !short.outlasts(short) && !endless.outlasts(endless),
		"endless outlasts all":         endless.outlasts(short) && !short.outlasts(endless),
		"what is to end is not over":   !short.over() && !endless.over(),
		"what has ended is over":       validity{now, now.Add(-1)}.over(),
		"no timer for what never ends": endless.untilOver(func() {}) == nil,
	} {
		if !ok {
			t.Error(what)
		}
	}
}

// A timer may be late, because clocks are set and machines suspended. What arrives is checked
// against the clock at that moment.
func TestNothingIsHeardOnAnEndedCertificate(t *testing.T) {
	ended := validity{time.Now().Add(-time.Hour), time.Now().Add(-time.Second)}
	h := newHub("a", 1, "", beat, nil)
	near, far := newPipe(NewNetwork(), "a", "b", time.Minute)
	c, peer := newConnection(t.Context(), near, near, maxReply), newConnection(t.Context(), far, far,
		maxReply)
	c.peer = ended
	s := &served{
		hub:    h,
		from:   "b",
		stream: c,
		ended:  make(chan struct{}),
	}
	if over, err := s.take(askFrame(1, 0)); !over || err != nil || !isClosed(s.ended) ||
		s.reason == nil {
		t.Errorf("a frame: over %t, error %v, reason %v", over, err, s.reason)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	sent := make(chan error)
	go func() { sent <- peer.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Answer{}}) }()
	l := newLink(h, Member{Name: "b"}, nil)
	err := l.receive(&stream{connection: c, ctx: t.Context()})
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err == nil || evidenceOf(err) != Rejected {
		t.Errorf("an answer: %v, want %s", err, Rejected)
	}
	if len(h.events) > 0 {
		t.Errorf("heard %#v", <-h.events)
	}
}

func TestALinkIsRenewedInTheLastQuarterOfItsLife(t *testing.T) {
	const pause, hour = 100 * time.Millisecond, time.Hour
	now := time.Now()
	for _, tc := range []struct {
		life     validity
		from, to time.Duration
	}{
		{validity{now, now.Add(24 * hour)}, 18*hour - time.Minute, 18*hour + 90*time.Minute},
		{
			validity{now.Add(-12 * hour), now.Add(12 * hour)},
			6*hour - time.Minute,
			6*hour + 90*time.Minute,
		},
		{validity{now.Add(-20 * hour), now.Add(4 * hour)}, hour/2 - time.Minute, hour},
		{validity{now.Add(-24 * hour), now.Add(time.Second)}, pause, 250 * time.Millisecond},
		{validity{now.Add(-24 * hour), now.Add(pause)}, pause, pause},
		{validity{now.Add(-24 * hour), now.Add(-hour)}, pause, pause},
	} {
		for range 100 {
			if got := tc.life.renewal(pause); got < tc.from || got > tc.to {
				t.Errorf("with %s left of %s: after %s, want %s to %s", tc.life.until.Sub(now),
					tc.life.until.Sub(tc.life.from), got, tc.from, tc.to)
			}
		}
	}
}
