package trace

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Input is what is known of the elections of a group.
type Input struct {
	// Processes are the names of the group's processes, in the order in which they are shown. Others
	// that have a part come after them.
	Processes []string
	// Accounts are what agents tell, in any order.
	Accounts []Accounts
	// Absent says of processes why they give no account.
	Absent map[string]string
	// Published is what the group's status has of each, newest first.
	Published []Picture
}

// entry is an account with who gives it.
type entry struct {
	process     string
	incarnation uint64
	Account
}

// Join returns a picture of each election that is told of, newest first. Its result does not depend
// on the order of the accounts.
func Join(in Input) []Picture {
	entries := entriesOf(in.Accounts)
	all := inOrder(elections(entries), in.Published)
	pictures := make([]Picture, 0, len(all))
	for _, e := range slices.Backward(all) {
		pictures = append(pictures, join(e, in))
	}
	return pictures
}

// entriesOf returns the accounts by process, incarnation and number. Of two with the same, the one
// that tells more counts: an agent may have been asked twice.
func entriesOf(accounts []Accounts) []entry {
	var all []entry
	for _, a := range accounts {
		for _, e := range a.Elections {
			if a.Process != "" {
				all = append(all, entry{a.Process, a.Incarnation, e})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(a.compare(b), -cmp.Compare(len(a.Coordinator), len(b.Coordinator)),
			-cmp.Compare(len(a.Messages), len(b.Messages)), cmp.Compare(a.text(), b.text()))
	})
	return slices.CompactFunc(all, func(a, b entry) bool { return a.compare(b) == 0 })
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.process, o.process), cmp.Compare(e.incarnation, o.incarnation),
		cmp.Compare(e.Number, o.Number))
}

func (e entry) text() string {
	text, _ := json.Marshal(e.Account) // it has been JSON before
	return string(text)
}

// during reports whether a message was sent or received while the account's election went on.
func (e entry) during(m Message) bool {
	return m.Microseconds >= 0 && (e.Coordinator == "" || m.Microseconds <= e.Microseconds)
}

// identity is what a message is recognised by.
type identity struct {
	from                  string
	incarnation, sequence uint64
}

func (m Message) identity() identity { return identity{m.From, m.Incarnation, m.Sequence} }

// election is the accounts of one election, and what was published of it.
type election struct {
	entries   []entry
	published *Picture
	age       int // among those that were published: the place from the oldest; -1: it was not
}

// elections puts the accounts together that are of one election: those that share a message of the
// election itself, in a Guarded group those that followed a lease of the same epoch, and in a
// Classic group those that name the same announcement. (In a Guarded group one announcement may
// stand for several leases.) A process that follows an announcement again, because it had lost
// sight of the coordinator for a while, had no part in another election by that: only its first
// account counts.
func elections(entries []entry) []election {
	union := newUnion(len(entries))
	ids, epochs, messages := map[string]int{}, map[int64]int{}, map[identity]int{}
	named := map[[2]string]bool{}
	for i, e := range entries {
		first := [2]string{e.process, e.ID}
		switch {
		case e.Epoch != 0:
			unite(union, epochs, e.Epoch, i)
		case e.ID != "" && !named[first]:
			named[first] = true
			unite(union, ids, e.ID, i)
		}
		for _, m := range e.Messages {
			if e.during(m) {
				unite(union, messages, m.identity(), i)
			}
		}
	}
	place := map[int]int{}
	var all []election
	for i, e := range entries {
		root := union.find(i)
		at, ok := place[root]
		if !ok {
			at = len(all)
			place[root] = at
			all = append(all, election{age: -1})
		}
		all[at].entries = append(all[at].entries, e)
	}
	return all
}

// unite joins an entry with the first that has the same key.
func unite[K comparable](u union, first map[K]int, key K, i int) {
	if j, ok := first[key]; ok {
		u.join(i, j)
	} else {
		first[key] = i
	}
}

// union is a union–find structure.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) find(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

// join keeps the smaller root, so that the result does not depend on the order of joins.
func (u union) join(i, j int) {
	a, b := u.find(i), u.find(j)
	u[max(a, b)] = min(a, b)
}

// inOrder adds what was published, and sorts the elections, oldest first: as each process had them
// one after the other, and as the manager published them. Of two that neither tells apart, those
// that were published come first.
func inOrder(all []election, published []Picture) []election {
	for i := range published {
		p := &published[i]
		at := slices.IndexFunc(all, func(e election) bool { return e.published == nil && e.is(p) })
		if at < 0 {
			at = len(all)
			all = append(all, election{})
		}
		all[at].published, all[at].age = p, len(published)-1-i
	}
	o := newOrder(len(all))
	chain := func(places []int) {
		for i := 1; i < len(places); i++ {
			o.add(places[i-1], places[i], true)
		}
	}
	byAge := make([]int, len(published))
	for i, e := range all {
		if e.age >= 0 {
			byAge[e.age] = i
		}
	}
	chain(byAge)
	for _, places := range placesOf(all) {
		chain(places)
	}
	o.contradictions() // an election that is told of in two accounts, around another one
	sorted := make([]election, 0, len(all))
	for _, at := range o.sorted(func(a, b int) int {
		x, y := all[a], all[b]
		if x.age >= 0 && y.age >= 0 {
			return cmp.Compare(x.age, y.age)
		}
		return cmp.Or(-cmp.Compare(x.age, y.age), cmp.Compare(a, b))
	}) {
		sorted = append(sorted, all[at])
	}
	return sorted
}

// placesOf returns in which elections each process took part, in its order. Processes are in the
// order of their names.
func placesOf(all []election) [][]int {
	type place struct {
		entry
		at int
	}
	var places []place
	for at, e := range all {
		for _, x := range e.entries {
			places = append(places, place{x, at})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.compare(b.entry) })
	var lists [][]int
	for i, p := range places {
		if i == 0 || places[i-1].process != p.process {
			lists = append(lists, nil)
		}
		lists[len(lists)-1] = append(lists[len(lists)-1], p.at)
	}
	return lists
}

// is reports whether what was published is of this election.
func (e election) is(p *Picture) bool {
	return slices.ContainsFunc(e.entries, func(x entry) bool {
		return p.ID != "" && x.ID == p.ID && (p.Epoch == 0 || x.Epoch == 0 || x.Epoch == p.Epoch) ||
			p.Epoch != 0 && x.Epoch == p.Epoch
	})
}
