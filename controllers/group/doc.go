// Package group is the controller of ElectionGroups. It says who is in a group (the roster, out to
// the agents) and writes what the agents report into the group's status, its Service, the role
// label, events and metrics. It elects nobody: elections go on without it.
//
// A pass is
//
//	observe (only reads) → decide (pure) → apply (all writes, only where something differs)
//
// and every decision of a pass is made before its first write. Who votes, and when that changes, is
// decided by internal/membership. The roster is persisted before anything else is written, because
// agents must not be told of a roster that another manager may still replace; on a conflict the
// pass ends there, and the next one observes again.
//
// Of the status that was published, status.roster alone is an input to decisions; what else is read
// back serves display (since when, what has changed, the last elections), and the promise that a
// manager that starts shows nothing false: the last status stays until agents have reported.
//
// What is not promised: that status shows every election. News is gathered for about 100 ms, then
// one write is made. An election whose result was not shown is not among the last ones either.
package group
