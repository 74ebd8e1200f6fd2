// Package simulate is what `kubectl election simulate` shows, apart from its flags: it turns what a
// person writes into a scenario, and what came of it into text, JSON or a space–time diagram.
//
// Times are in link delays. What is not promised: that a real network behaves like this one; it is
// the books' network, on which nothing is late unless the scenario says so.
package simulate
