package group

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// DefaultDebounce is how long news of a group is gathered before a pass, unless told otherwise. A
// failover with a lease of 100 ms is over before, so it takes one write.
const DefaultDebounce = 150 * time.Millisecond

// debounce gathers the news of each group: a pass is made when the oldest news that no pass has
// taken is as old as the window, whatever wakes the controller earlier. When a process is killed,
// its connection closes at once, and what its peers have to say comes within a few milliseconds: so
// the first write is already the right one. A pass need not wait when nothing more is to come, but
// only the first of these within a window does not. One that has waited does not count: a lease may
// be as long as the window, and what the agents agree on then comes right behind the pass that the
// loss of the leaseholder has made. Safe for concurrent use.
type debounce struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]gathering
}

// gathering is the news of one group.
type gathering struct {
	waiting  bool      // there is news that no pass has taken
	complete bool      // nothing more is to come
	oldest   time.Time // when the first of it came
	early    time.Time // when a pass last took news that was complete before it had waited
}

// add notes news of a group, and reports whether it is the first that no pass has taken.
func (d *debounce) add(key types.NamespacedName, now time.Time) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[key]
	if g.waiting {
		return false
	}
	g.waiting, g.oldest = true, now
	d.put(key, g)
	return true
}

// complete says that the news of a group is all that is to come. It reports whether a pass may be
// made at once.
func (d *debounce) complete(key types.NamespacedName, window time.Duration, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[key]
	if !g.waiting || now.Sub(g.early) < window {
		return false
	}
	g.complete = true
	d.put(key, g)
	return true
}

// take returns how long a pass has to wait until the news of the group has been gathered. If that
// is zero, the pass takes all news there is.
func (d *debounce) take(key types.NamespacedName, window time.Duration,
	now time.Time) (wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.groups[key]
	if !g.waiting {
		return 0
	}
	wait = window - now.Sub(g.oldest)
	switch {
	case wait <= 0:
	case g.complete:
		g.early = now
	default:
		return wait
	}
	d.put(key, gathering{early: g.early})
	return 0
}

// drop forgets a group that was deleted.
func (d *debounce) drop(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, key)
}

func (d *debounce) put(key types.NamespacedName, g gathering) {
	if d.groups == nil {
		d.groups = map[types.NamespacedName]gathering{}
	}
	d.groups[key] = g
}
