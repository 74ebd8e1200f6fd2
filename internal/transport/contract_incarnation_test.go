package transport

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// tell collects what processes log, and finds out what is an ERROR.
type tell struct {
	more chan struct{} // capacity 1: there is another line

	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *tell) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.lines.Write(line)
}

// await waits for an ERROR that contains these words.
func (l *tell) await(t *testing.T, words ...string) {
	t.Helper()
	late := time.After(10 * time.Second)
	for len(l.errors(words...)) == 0 {
		select {
		case <-l.more:
		case <-late:
			t.Fatalf("no ERROR says %q", words)
		}
	}
}

// errors returns the ERRORs so far that contain these words.
func (l *tell) errors(words ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.lines.String()) {
		all := strings.Contains(line, "level=ERROR")
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// begins has the processes that join from now on log to what it returns.
func begins(f fabric, file *RosterFile) *tell {
	l := &tell{more: make(chan struct{}, 1)}
	f.begin(file, slog.New(slog.NewTextHandler(l, nil)))
	return l
}

// seek returns the next event that is an E, and skips others.
func seek[E Event](t *testing.T, links Links) E {
	t.Helper()
	for {
		if e, ok := next(t, links).(E); ok {
			return e
		}
	}
}

func TestAnEarlierIncarnationIsToldOfTheLatest(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a, b := f.join("a", 1), f.join("b", 5)
		introduce(f, []string{"a", "b"}, b, a)
		expect(t, b, Up{"a"})
		f.kill("b")

		b = f.join("b", 3)
		introduce(f, []string{"a", "b"}, b)
		if got := seek[Outnumbered](t, b); got != (Outnumbered{By: "a", Incarnation: 5}) {
			t.Errorf("%+v", got)
		}
		b.Send("a", "Bully", 0, say(1))
		f.kill("b")

		b = f.join("b", 6)
		introduce(f, []string{"a", "b"}, b)
		b.Send("a", "Bully", 0, say(2))
		expect(t, a, received("b", 6, 2))

		// Another UID, or a process that was off the roster, begins anew.
		f.kill("b")
		a.Admit(nil)
		a.Admit([]Member{f.member("b")})
		b = f.join("b", 1)
		introduce(f, []string{"a", "b"}, b)
		b.Send("a", "Bully", 0, say(3))
		expect(t, a, received("b", 1, 3))
	})
}

func TestTwoCopiesLearnOfEachOther(t *testing.T) {
	inEachFabric(t, func(t *testing.T, f fabric) {
		a := f.join("a", 1)
		first := begins(f, nil)
		b := f.join("b", 5)
		introduce(f, []string{"a", "b"}, b, a)
		expect(t, b, Up{"a"})
		other := begins(f, nil)
		second := f.copy("b", 6)
		introduce(f, []string{"a", "b"}, second)
		expect(t, second, Up{"a"})
		expect(t, b, Down{"a", Rejected})
		second.Send("a", "Bully", 0, say(1))
		expect(t, a, received("b", 6, 1))
		first.await(t, "another copy", "other=6")
		other.await(t, "another copy", "other=5")
		<-time.After(10 * beat) // the first goes on trying, and nothing tells how often
		if n := len(first.errors()) + len(other.errors()); n != 2 {
			t.Errorf("%d errors, want one of each", n)
		}

		second.Close()
		if got := seek[Outnumbered](t, b); got.Incarnation != 6 {
			t.Errorf("%+v", got)
		}
	})
}

// A member may say what it likes of the incarnations of another: only what that one has signed
// itself has it start again.
func TestALaterIncarnationIsShown(t *testing.T) {
	f := newLoopback(t)
	t.Cleanup(f.end)
	said := begins(f, nil)
	b := f.join("b", 5).(*hub)
	b.Admit([]Member{f.member("a")})
	of := func(process string, incarnation uint64) *linkpb.Start {
		start, err := signer{newKeyring(t, f.authority, f.authority, f.name(process),
			time.Now())}.sign(incarnation)
		if err != nil {
			t.Fatal(err)
		}
		return start
	}
	changed := of("b", 6)
	changed.Incarnation = 7
	for what, later := range map[string]*linkpb.Start{
		"another process's":  of("a", 6),
		"another number":     changed,
		"nothing":            {Incarnation: 6},
		"above all":          of("b", maxIncarnation+1),
		"an earlier one":     of("b", 4),
		"this very one":      of("b", 5),
		"no Start at all":    nil,
		"a long certificate": {Incarnation: 6, Certificate: make([]byte, maxCertificate+1)},
	} {
		b.refused("a", lossOf(&linkpb.Ended{Reason: linkpb.Ended_UNWANTED, Later: later}))
		b.rival("a", later)
		if n := len(b.events); n > 0 {
			t.Errorf("%s: %#v", what, <-b.events)
		}
	}
	if n := len(said.errors("cannot show", "process=a")); n != 1 {
		t.Errorf("%d errors about a's lies, want one", n)
	}
	b.refused("a", lossOf(&linkpb.Ended{Reason: linkpb.Ended_UNWANTED, Later: of("b", 6)}))
	expect(t, b, Outnumbered{By: "a", Incarnation: 6})
}
