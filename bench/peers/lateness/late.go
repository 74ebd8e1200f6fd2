// Package lateness notices when something that all systems rely on was late: the machine itself, or
// the ways between members. A lease that is shorter than that is lost by no fault of the system
// that is measured.
package lateness

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// Least is how long something is late at least to be noted. Interrupts take less.
const Least = 20 * time.Millisecond

// Late is a time in which something did not get on.
type Late struct{ From, To register.Instant }

// Length is how long it lasted.
func (l Late) Length() time.Duration { return l.To.Sub(l.From) }

// log is what was late. It is safe for concurrent use.
type log struct {
	mu  sync.Mutex
	all []Late
}

func (l *log) add(late Late) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, late)
}

// within returns what ended within a span, by its begin. Times that overlap are one.
func (l *log) within(from, to register.Instant) []Late {
	l.mu.Lock()
	defer l.mu.Unlock()
	return merged(slices.DeleteFunc(slices.Clone(l.all), func(late Late) bool {
		return late.To < from || late.To > to
	}))
}

// merged makes one of those that overlap.
func merged(all []Late) (some []Late) {
	slices.SortFunc(all, func(x, y Late) int { return cmp.Compare(x.From, y.From) })
	for _, late := range all {
		if n := len(some); n > 0 && late.From <= some[n-1].To {
			some[n-1].To = max(some[n-1].To, late.To)
			continue
		}
		some = append(some, late)
	}
	return some
}
