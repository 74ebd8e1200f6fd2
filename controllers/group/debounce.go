package group

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// DefaultDebounce is how long news of a group is gathered before a pass, unless told otherwise.
const DefaultDebounce = 100 * time.Millisecond

// debounce gathers the news of each group: a pass is made when the oldest news that no pass has
// taken is as old as the window, whatever wakes the controller earlier. When a process is killed,
// its session closes at once, and what its peers have to say comes within a few milliseconds: so
// the first write is already the right one. Safe for concurrent use.
type debounce struct {
	mu     sync.Mutex
	oldest map[types.NamespacedName]time.Time
}

// add notes news of a group, and reports whether it is the first that no pass has taken.
func (d *debounce) add(key types.NamespacedName, now time.Time) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waiting := d.oldest[key]; waiting {
		return false
	}
	if d.oldest == nil {
		d.oldest = map[types.NamespacedName]time.Time{}
	}
	d.oldest[key] = now
	return true
}

// take returns how long a pass has to wait until the news of the group has been gathered for the
// window. If that is zero, the pass takes all news there is.
func (d *debounce) take(key types.NamespacedName, window time.Duration,
	now time.Time) (wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldest, ok := d.oldest[key]
	if !ok {
		return 0
	}
	if wait = window - now.Sub(oldest); wait > 0 {
		return wait
	}
	delete(d.oldest, key)
	return 0
}
