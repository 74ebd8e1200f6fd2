// Package lease decides which process may act as the coordinator, and until when. It stands behind
// every election algorithm of a Guarded group: the algorithm nominates, the lease authorises.
//
// A Machine is one process's part in the lease protocol. A file begins with the rules that it
// implements: of the voter in voter.go, disk.go and groups.go (V); of the candidate in
// candidate.go, prevote.go, again.go, hearsay.go, turn.go and seek.go (C); of the leaseholder in
// leaseholder.go, tally.go, lapse.go, step_down.go, clocks.go and length.go (LH); of preemption in
// preemption.go (PR); of the follower in follower.go (F). docs/reference/lease.md has a list of
// them, explains the protocol, and says why it is safe.
//
// A Machine is pure: a reading of the clocks and an event go in; requests, responses and advice to
// the election algorithm come out. The same seed and the same events give the same output. Its
// caller (internal/node) keeps the time, carries the messages, and writes the State to the disk.
//
// A Ledger (permission.go) is the other half: what the app was granted and what it was told. The
// app's requests use it directly, against the clock of that moment, and never go through a Machine.
//
// Not promised: neither a Machine nor a Ledger is safe for concurrent use, and the slices of an
// Output are valid only until the next Step. The package imports only the standard library.
package lease
