// Package account keeps what the members of one system have said and what was done to them, and
// works out how well the system led itself. It knows no system in particular.
package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// What the driver does to a member is told in the same book. Between Killed and Started a member is
// dead, whatever else it is said to have said. Between Stopped and Continued it does nothing, and
// goes on as before afterwards.
const (
	Killed    said.Word = "killed"
	Started   said.Word = "started"
	Stopped   said.Word = "stopped"
	Continued said.Word = "continued"
)

// Entry is a line of a member, or what was done to it.
type Entry struct {
	Member string
	said.Line
}

// Book keeps entries in the order in which they come, and the present state of each member. It is
// safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	entries []Entry
	names   map[string]said.Line // by member: what it has named last
	leads   map[string]bool      // by what they say
	stopped map[string]bool
	changed chan struct{}
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{
		names:   map[string]said.Line{},
		leads:   map[string]bool{},
		stopped: map[string]bool{},
		changed: make(chan struct{}),
	}
}

// Add takes an entry.
func (b *Book) Add(e Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, e)
	switch e.Word {
	case said.Names:
		b.names[e.Member] = e.Line
	case said.Leads:
		b.leads[e.Member] = true
	case said.Ceases:
		delete(b.leads, e.Member)
	case Stopped:
		b.stopped[e.Member] = true
	case Continued:
		delete(b.stopped, e.Member)
	case Killed, Started:
		delete(b.leads, e.Member)
		delete(b.names, e.Member)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// Entries returns all entries by their instants.
func (b *Book) Entries() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	sorted := slices.Clone(b.entries)
	slices.SortStableFunc(sorted, func(x, y Entry) int { return int(x.At - y.At) })
	return sorted
}

// Changed returns a channel that is closed at the next entry.
func (b *Book) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Leader returns the member that leads now, if one does and only one. One that is stopped does not
// count.
func (b *Book) Leader() (name string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	leaders := 0
	for member := range b.leads {
		if !b.stopped[member] {
			name = member
			leaders++
		}
	}
	return name, leaders == 1
}

// Agreement returns whom all the given members name, and when the last of them began to. It is not
// there while they differ, or while one names nobody.
func (b *Book) Agreement(members []string) (leader string, since register.Instant, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range members {
		l := b.names[m]
		if l.Name == "" || leader != "" && leader != l.Name {
			return "", 0, false
		}
		leader, since = l.Name, max(since, l.At)
	}
	return leader, since, len(members) > 0
}

// Await waits until all the given members name the same leader, and accept holds for it.
func (b *Book) Await(ctx context.Context, members []string,
	accept func(leader string) bool) (leader string, since register.Instant, err error) {
	for {
		changed := b.Changed()
		if leader, since, ok := b.Agreement(members); ok && accept(leader) {
			return leader, since, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", 0, fmt.Errorf("no agreement: %s: %w", b.describe(members), context.Cause(ctx))
		}
	}
}

// describe tells whom each member names.
func (b *Book) describe(members []string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]string, 0, len(members))
	for _, m := range members {
		all = append(all, m+" names "+cmp.Or(b.names[m].Name, "nobody"))
	}
	return strings.Join(all, ", ")
}
