package history

import (
	"cmp"
	"slices"

	"github.com/podesta-dev/podesta/test/register"
)

// writes counts a group's.
func (h History) writes(group string) (w Writes) {
	var taken []register.Entry
	for _, e := range h.Entries {
		switch {
		case e.Group != group || e.At > h.End:
			continue
		case e.Accepted:
			taken = append(taken, e)
			if e.Deadline != 0 && e.At > e.Deadline {
				w.Late++
			}
		default:
			w.Refused++
			if !e.Careless {
				w.RefusedCareful++
			}
		}
	}
	w.Accepted, w.Stale = len(taken), stale(taken)
	return w
}

// burst is what one pod wrote in one belief.
type burst struct {
	uid         string
	since       register.Instant
	first, last register.Instant
}

// stale counts the writes that came between the first and the last one of another pod's belief that
// began later.
func stale(taken []register.Entry) (n int) {
	type belief struct {
		uid   string
		since register.Instant
	}
	bursts := map[belief]*burst{}
	for _, e := range taken {
		key := belief{e.UID, e.Since}
		if bursts[key] == nil {
			bursts[key] = &burst{
				uid:   e.UID,
				since: e.Since,
				first: e.At,
			}
		}
		bursts[key].last = e.At
	}
	next := make([]*burst, 0, len(bursts))
	for _, b := range bursts {
		next = append(next, b)
	}
	slices.SortFunc(next, func(a, b *burst) int { return cmp.Compare(a.first, b.first) })
	var open []*burst
	for _, e := range taken {
		for len(next) > 0 && next[0].first < e.At {
			open, next = append(open, next[0]), next[1:]
		}
		open = slices.DeleteFunc(open, func(b *burst) bool { return b.last <= e.At })
		if slices.ContainsFunc(open, func(b *burst) bool { return b.uid != e.UID && b.since > e.Since }) {
			n++
		}
	}
	return n
}
