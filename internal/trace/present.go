package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/lease"
)

// describe says what is known of the election as a whole: what was published, and else what most
// accounts tell.
func (j *joining) describe(e election) {
	if e.published != nil {
		j.Picture = *e.published
	}
	most := func(of func(entry) string) string {
		votes := map[string]int{}
		for _, x := range e.entries {
			if v := of(x); v != "" {
				votes[v]++
			}
		}
		names := slices.Sorted(maps.Keys(votes))
		if len(names) == 0 {
			return ""
		}
		return slices.MaxFunc(names, func(a, b string) int { return votes[a] - votes[b] })
	}
	j.Coordinator = cmp.Or(j.Coordinator, most(func(x entry) string { return x.Coordinator }))
	for _, x := range e.entries {
		if x.ID != "" && !slices.Contains(j.ids, x.ID) {
			j.ids = append(j.ids, x.ID)
		}
		if x.process == j.Coordinator && j.ID == "" { // it should know
			j.ID = x.ID
		}
	}
	j.ID = cmp.Or(j.ID, most(func(x entry) string { return x.ID }))
	j.Algorithm = cmp.Or(j.Algorithm, most(func(x entry) string { return x.Algorithm }))
	j.Initiator = cmp.Or(j.Initiator, most(func(x entry) string { return x.Initiator }))
	j.Reason = cmp.Or(j.Reason, most(func(x entry) string {
		if x.process == j.Initiator {
			return x.Reason
		}
		return ""
	}))
	if j.Epoch == 0 {
		for _, x := range e.entries {
			j.Epoch = max(j.Epoch, x.Epoch)
		}
		if j.Epoch > 0 {
			j.DisplayEpoch = lease.Epoch(j.Epoch).String()
		}
	}
}

// present lists the events, and the processes that have one.
func (j *joining) present() {
	for _, name := range []string{j.From, j.Coordinator, j.Initiator} {
		j.hasLane(name)
	}
	rank := func(name string) int {
		if i := slices.Index(j.in.Processes, name); i >= 0 {
			return i
		}
		return len(j.in.Processes)
	}
	slices.SortFunc(j.lanes, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	lane := map[string]int{}
	j.Processes = []Process{}
	for i, name := range j.lanes {
		lane[name] = i
		p := Process{Name: name}
		if own := j.tells[name]; len(own) > 0 {
			p.Account = true
			for _, at := range own {
				if j.events[at].What == Follows {
					p.Follows = j.events[at].Peer
				}
			}
		} else {
			p.Why = j.why(name)
		}
		j.Processes = append(j.Processes, p)
	}
	places := j.order.chains(func(int, int) int { return 1 })
	steps := j.order.chains(j.apart)
	j.postpone(steps)
	sorted := make([]int, len(j.events))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int {
		x, y := &j.events[a], &j.events[b]
		return cmp.Or(cmp.Compare(steps[a], steps[b]), cmp.Compare(lane[x.Process], lane[y.Process]),
			cmp.Compare(places[a], places[b]), cmp.Compare(x.message.Incarnation, y.message.Incarnation),
			cmp.Compare(x.message.Sequence, y.message.Sequence), cmp.Compare(x.Peer, y.Peer),
			cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.About, y.About), cmp.Compare(a, b))
	})
	j.list(sorted, steps)
}

// postpone puts what is inferred no earlier than it must have been: right before what it led to.
// Else all that a silent process has sent would stand at the beginning.
func (j *joining) postpone(steps []int) {
	after := make([][]int, len(steps))
	for v, edges := range j.order.before {
		for _, e := range edges {
			after[e.from] = append(after[e.from], v)
		}
	}
	for _, v := range slices.Backward(j.order.sorted(nil)) {
		if !j.events[v].Inferred || len(after[v]) == 0 {
			continue
		}
		latest := steps[after[v][0]] - j.apart(v, after[v][0])
		for _, w := range after[v] {
			latest = min(latest, steps[w]-j.apart(v, w))
		}
		steps[v] = max(steps[v], latest)
	}
}

// apart returns how many steps an event is after one right before it. A process answers at once.
func (j *joining) apart(from, to int) int {
	a, b := &j.events[from], &j.events[to]
	if a.Process == b.Process && b.What == Sends && a.What != TakesPart {
		return 0
	}
	return 1
}

// list numbers the events and lists them in the picture.
func (j *joining) list(sorted, steps []int) {
	number := make([]int, len(sorted))
	for i, at := range sorted {
		number[at] = i + 1
	}
	pasts := j.order.pasts(sorted)
	j.Events = make([]Event, 0, len(sorted))
	for i, at := range sorted {
		e := j.events[at].Event
		e.Number, e.Step = number[at], steps[at]+1
		if j.events[at].pair >= 0 {
			e.Pair = number[j.events[at].pair]
		}
		for _, b := range j.order.before[at] {
			e.After = append(e.After, number[b.from])
		}
		slices.Sort(e.After)
		e.After = slices.Compact(e.After)
		e.Unordered = i > 0 && pasts[at].Bit(sorted[i-1]) == 0
		j.Events = append(j.Events, e)
	}
}

// why says why a process gives no account.
func (j *joining) why(name string) string {
	if why := j.in.Absent[name]; why != "" {
		return why
	}
	for _, a := range j.in.Accounts {
		if a.Process == name {
			return "its agent does not tell of this election: it had no part in it, has started again " +
				"since, or has forgotten it"
		}
	}
	return "nobody has asked for one"
}

// sayWhatIsMissing says what the accounts leave open.
func (j *joining) sayWhatIsMissing(e election) {
	byWhy := map[string][]string{}
	for _, p := range j.Processes {
		if !p.Account {
			byWhy[p.Why] = append(byWhy[p.Why], p.Name)
		}
	}
	for name, why := range j.in.Absent {
		if !slices.Contains(j.lanes, name) {
			byWhy[why] = append(byWhy[why], name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(byWhy)) {
		names := byWhy[why]
		slices.Sort(names)
		give := "gives"
		if len(names) > 1 {
			give = "give"
		}
		j.unknown("%s %s no account: %s.", list(names), give, why)
	}
	for _, name := range j.lanes {
		if seen := j.incarnations(name); len(seen) > 1 {
			j.unknown("%s has started again in between: it tells nothing of what it did before, and others "+
				"may.", name)
		}
	}
	unreceived := 0
	for i := range j.events {
		m := &j.events[i]
		if m.What == Sends && m.pair < 0 && len(j.tells[m.Peer]) > 0 {
			unreceived++
		}
	}
	if unreceived > 0 {
		j.unknown("Of %d messages no account of this election tells a receipt: they were lost, or "+
			"arrived when their receivers had no part in it.", unreceived)
	}
	if len(e.entries) == 0 {
		j.unknown("No agent tells of this election: its messages are not known.")
	}
}

// incarnations returns in which incarnations a process had a part.
func (j *joining) incarnations(name string) map[uint64]bool {
	seen := map[uint64]bool{}
	for _, e := range j.events {
		if e.Process == name {
			seen[e.incarnation] = true
		}
	}
	return seen
}

// list joins names: a, b and c.
func list(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
