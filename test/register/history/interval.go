package history

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// merge joins intervals of one pod and epoch that meet. In and out are ordered by their beginnings.
func merge(all []Interval) []Interval {
	type owner struct {
		uid   string
		epoch int64
	}
	last := map[owner]int{}
	var out []Interval
	for _, i := range all {
		key := owner{i.UID, i.Epoch}
		if at, ok := last[key]; ok && i.From <= out[at].To {
			out[at].To = max(out[at].To, i.To)
			continue
		}
		last[key] = len(out)
		out = append(out, i)
	}
	return out
}

// Overlap is a time in which two pods were told that they may act.
type Overlap struct {
	A, B     Interval
	From, To register.Instant
}

// overlaps finds each pair of intervals of different pods that share an instant. The intervals are
// merged.
func overlaps(merged []Interval) []Overlap {
	var found []Overlap
	var open []Interval
	for _, i := range merged {
		open = slices.DeleteFunc(open, func(o Interval) bool { return o.To <= i.From })
		for _, o := range open {
			if o.UID != i.UID {
				found = append(found, Overlap{
					A:    o,
					B:    i,
					From: i.From,
					To:   min(o.To, i.To),
				})
			}
		}
		open = append(open, i)
	}
	return found
}

// Times is how often something was so, and for how long.
type Times struct {
	Count          int
	Total, Longest time.Duration
}

// add counts one more.
func (t *Times) add(d time.Duration) {
	t.Count++
	t.Total += d
	t.Longest = max(t.Longest, d)
}

// together joins overlaps that meet: three coordinators are not counted three times.
func together(found []Overlap) Times {
	spans := make([]Interval, 0, len(found))
	for _, o := range found {
		spans = append(spans, Interval{From: o.From, To: o.To})
	}
	slices.SortFunc(spans, byFrom)
	var times Times
	for _, s := range merge(spans) {
		times.add(s.To.Sub(s.From))
	}
	return times
}

// nobody is when no process was told that it may act, between the first time that one was and the
// end of the run.
func nobody(all []Interval, end register.Instant) Times {
	var times Times
	if len(all) == 0 {
		return times
	}
	until := all[0].To
	for _, i := range append(slices.Clip(all), Interval{From: end, To: end}) {
		if i.From > until {
			times.add(i.From.Sub(until))
		}
		until = max(until, i.To)
	}
	return times
}

// without takes out of each interval the pauses of its pod.
func without(all []Interval, pauses map[string][]Interval) []Interval {
	var out []Interval
	for _, i := range all {
		pieces := []Interval{i}
		for _, p := range pauses[i.UID] {
			pieces = cut(pieces, p)
		}
		out = append(out, pieces...)
	}
	slices.SortFunc(out, byFrom)
	return out
}

func cut(pieces []Interval, hole Interval) []Interval {
	var out []Interval
	for _, p := range pieces {
		before, after := p, p
		before.To, after.From = min(p.To, hole.From), max(p.From, hole.To)
		for _, rest := range []Interval{before, after} {
			if rest.From < rest.To {
				out = append(out, rest)
			}
		}
	}
	return out
}
