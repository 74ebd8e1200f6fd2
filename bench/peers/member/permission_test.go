package member

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

func words(t *testing.T, text string) (all []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		l, err := said.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(l.Word))
	}
	return all
}

func TestPermission(t *testing.T) {
	const second, us = register.Instant(time.Second), register.Instant(time.Microsecond)
	type tells struct {
		at    register.Instant
		may   bool
		until register.Instant
	}
	for name, c := range map[string]struct {
		tells []tells
		want  []string
	}{
		"renewed in time": {
			[]tells{{second, true, 2 * second}, {2*second - 1, true, 3 * second}},
			[]string{"leads"},
		},
		"renewed too late": {
			[]tells{{second, true, 2 * second}, {3 * second, true, 4 * second}},
			[]string{"leads", "ceases", "leads"},
		},
		"what is told is over already": {
			[]tells{{3 * second, true, 2 * second}},
			nil,
		},
		"the same deadline a little later": {
			[]tells{{second, true, 2*second - 9*us}, {2*second - 5*us, true, 2*second - 2*us}},
			[]string{"leads", "ceases"},
		},
		"the same deadline a little sooner": {
			[]tells{{second, true, 2 * second}, {2*second - 5*us, true, 2*second - 2*us}},
			[]string{"leads"},
		},
		"revoked": {
			[]tells{{second, true, 2 * second}, {second + 1, false, 0}, {second + 2, false, 0}},
			[]string{"leads", "ceases"},
		},
		"revoked after its end": {
			[]tells{{second, true, 2 * second}, {3 * second, false, 0}},
			[]string{"leads", "ceases"},
		},
		"without a deadline": {
			[]tells{{second, true, 0}, {100 * second, true, 0}},
			[]string{"leads"},
		},
	} {
		var out strings.Builder
		synctest.Test(t, func(*testing.T) { // no timer fires
			var now register.Instant
			p := &permission{say: said.NewSpeaker(&out), now: func() register.Instant { return now }}
			for _, one := range c.tells {
				now = one.at
				p.told(one.may, one.until)
			}
		})
		if got := words(t, out.String()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Nobody needs to tell an app that its deadline has passed; the instant said is the deadline.
func TestPermissionEndsByItself(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		var now atomic.Int64 // no clock of the bubble, by which the timer runs
		now.Store(1)
		n := &permission{
			say: said.NewSpeaker(&out),
			now: func() register.Instant { return register.Instant(now.Load()) },
		}
		n.told(true, 1+2*worthwhile)
		now.Add(int64(2 * worthwhile))
		<-time.After(time.Second)
		synctest.Wait()
	})
	text := out.String()
	if text != "1 leads\n2000001 ceases\n" {
		t.Fatalf("it said %q", text)
	}
}
