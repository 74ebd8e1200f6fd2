package member

import (
	"slices"
	"strings"
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
	const second = register.Instant(time.Second)
	for name, c := range map[string]struct {
		tell func(*permission)
		want []string
	}{
		"renewed in time": {
			func(n *permission) { n.told(true, 2*second, second); n.told(true, 3*second, 2*second-1) },
			[]string{"leads"},
		},
		"renewed too late": {
			func(n *permission) { n.told(true, 2*second, second); n.told(true, 4*second, 3*second) },
			[]string{"leads", "ceases", "leads"},
		},
		"what is told is over already": {
			func(n *permission) { n.told(true, 2*second, 3*second) },
			nil,
		},
		"revoked": {
			func(n *permission) {
				n.told(true, 2*second, second)
				n.told(false, 0, second+1)
				n.told(false, 0, second+2)
			},
			[]string{"leads", "ceases"},
		},
		"revoked after its end": {
			func(n *permission) { n.told(true, 2*second, second); n.told(false, 0, 3*second) },
			[]string{"leads", "ceases"},
		},
		"without a deadline": {
			func(n *permission) { n.told(true, 0, second); n.told(true, 0, 100*second) },
			[]string{"leads"},
		},
	} {
		var out strings.Builder
		synctest.Test(t, func(*testing.T) { c.tell(&permission{say: said.NewSpeaker(&out)}) }) // no timer fires
		if got := words(t, out.String()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Nobody needs to tell an app that its deadline has passed; the instant said is the deadline.
func TestPermissionEndsByItself(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(*testing.T) {
		n := &permission{say: said.NewSpeaker(&out)}
		now := register.Now() // no clock of the bubble: the timer runs by that, and finds a deadline that has passed
		n.told(true, now+1, now)
		<-time.After(time.Second)
		synctest.Wait()
	})
	text := out.String()
	if got := words(t, text); !slices.Equal(got, []string{"leads", "ceases"}) {
		t.Fatalf("%v, want leads and ceases", got)
	}
}
