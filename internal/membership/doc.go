// Package membership decides which processes of a group vote, and when that may change: rules MC1
// to MC8 and MC10 to MC15, each in the file named for its subject, with its full text above the
// code.
//
//	generation.go       MC1  one roster at a time; how generations are numbered
//	founding.go         MC2  the first voters
//	change.go           MC3  one voter at a time
//	acknowledgement.go  MC4  a majority acknowledges, then two longest leases pass
//	removal_ended.go    MC5  what proves that a voter has ended
//	removal_missing.go  MC6  voters that are missing without such a proof
//	majority_lost.go    MC7  when nothing may change
//	departing.go        MC8  processes on their way out get priority 0
//	set_back.go         MC10 a status that was restored or wiped
//	rules_level.go      MC11 by which rules the voters promise
//	step_down.go        MC12 a process that an operator keeps from coordinating
//	witness.go          MC13 a process that votes and never coordinates
//	ballots.go          MC14 a generation whose ballots are used up
//	forming.go          MC15 whose preemption does not wait
//	followed.go              whom a majority follows, and under which epoch
//
// MC9, how agents pass a roster on to each other, is in internal/node/rosters_passed_on.go.
//
// The manager calls Step in every pass over a group; the simulator runs the very same function.
//
//	state, decision := membership.Step(state, facts)
//	if decision.Persist {
//		// Write decision.Roster into the group's status, on top of the state that facts.Roster was
//		// read from. On a conflict nothing is told to anybody: read again, and call Step again.
//		state = state.Persisted(decision.Roster)
//	}
//	// Tell the agents decision.Roster. Call Step again when a fact changes, and after
//	// decision.Again at the latest.
//
// What holds: any majority of the new voters intersects any majority of the old ones, apart from
// voters that ended more than a lease ago. That is what internal/lease needs for its promise that
// at most one process may act at any time.
//
// What a caller must guarantee: a roster is persisted only on top of the one that it follows (of
// two managers one gets a conflict); State starts as its zero value in every run of a manager and
// for every group object; the rate of the manager's clock is off by less than MaxClockDriftPercent.
// A zero State makes waits longer, never shorter.
//
// What is not promised: that voters change soon, or at all. Without proof that a lost majority has
// ended nothing changes (MC7). An operator who confirms that a running voter has stopped breaks
// what MC5 relies on.
//
// The package is pure: the same State and Facts give the same result. It reads no clock, starts no
// goroutine and imports the standard library only. It does not change its arguments; what it
// returns may share memory with them, so callers do not change those either.
package membership
