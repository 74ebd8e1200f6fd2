package trace

import (
	"math/big"
	"slices"
)

// order is a happened-before relation that is being made, of events with the numbers 0 to n-1.
type order struct {
	// before lists, for each event, those right before it. A soft edge is given up if it is part of a
	// contradiction: what one process tells of its own order is not.
	before [][]edge
}

type edge struct {
	from int
	soft bool
}

func newOrder(n int) *order { return &order{before: make([][]edge, n)} }

// add says that one event happened before another.
func (o *order) add(from, to int, soft bool) {
	if from != to {
		o.before[to] = append(o.before[to], edge{from, soft})
	}
}

// contradictions returns the sets of events of which each would have happened before itself, and
// gives up the soft edges within each of them. What is left is an order, if the others alone are
// one.
func (o *order) contradictions() [][]int {
	component := o.components()
	members := map[int][]int{}
	for v, c := range component {
		members[c] = append(members[c], v)
	}
	var found [][]int
	for v := range o.before { // in the order of events, so that equal input gives equal output
		set := members[component[v]]
		if len(set) < 2 || set[0] != v {
			continue
		}
		found = append(found, set)
		for _, w := range set {
			o.before[w] = slices.DeleteFunc(o.before[w], func(e edge) bool {
				return e.soft && component[e.from] == component[w]
			})
		}
	}
	return found
}

// components returns the strongly connected component of each event, by Tarjan's algorithm.
func (o *order) components() []int {
	n := len(o.before)
	index, low, component := make([]int, n), make([]int, n), make([]int, n)
	var stack []int
	visited, components := 0, 0
	var visit func(v int)
	visit = func(v int) {
		visited++
		index[v], low[v] = visited, visited
		stack = append(stack, v)
		for _, e := range o.before[v] {
			if index[e.from] == 0 {
				visit(e.from)
			}
			low[v] = min(low[v], low[e.from])
		}
		if low[v] != index[v] {
			return
		}
		for last := -1; last != v; {
			last = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			component[last], low[last] = components, n+1 // it is on the stack no more
		}
		components++
	}
	for v := range n {
		if index[v] == 0 {
			visit(v)
		}
	}
	return component
}

// chains returns, for each event, the length of the longest chain that ends with it, where the
// weight says how much longer a chain from one event to the next is. The order must have no
// contradiction.
func (o *order) chains(weight func(from, to int) int) []int {
	chains := make([]int, len(o.before))
	for _, v := range o.sorted(nil) {
		for _, e := range o.before[v] {
			chains[v] = max(chains[v], chains[e.from]+weight(e.from, v))
		}
	}
	return chains
}

// sorted returns all events so that none comes before one that happened before it. Of those that
// may be next, the smallest is; without a comparison, any. The order must have no contradiction.
func (o *order) sorted(compare func(a, b int) int) []int {
	n := len(o.before)
	after, waiting := make([][]int, n), make([]int, n)
	var free []int
	for v, edges := range o.before {
		for _, e := range edges {
			after[e.from] = append(after[e.from], v)
		}
		if waiting[v] = len(edges); waiting[v] == 0 {
			free = append(free, v)
		}
	}
	all := make([]int, 0, n)
	for len(free) > 0 {
		at := 0
		for i := range free {
			if compare != nil && compare(free[i], free[at]) < 0 {
				at = i
			}
		}
		next := free[at]
		free[at] = free[0]
		free = free[1:]
		all = append(all, next)
		for _, w := range after[next] {
			if waiting[w]--; waiting[w] == 0 {
				free = append(free, w)
			}
		}
	}
	return all
}

// pasts returns the set of events that happened before each event, a bit for each. It is given an
// order of them all in which none comes before one that happened before it.
func (o *order) pasts(inOrder []int) []big.Int {
	pasts := make([]big.Int, len(o.before))
	for _, v := range inOrder {
		mine := &pasts[v]
		for _, e := range o.before[v] {
			mine.Or(mine, &pasts[e.from])
			mine.SetBit(mine, e.from, 1)
		}
	}
	return pasts
}
