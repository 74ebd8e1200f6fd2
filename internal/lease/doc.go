// Package lease decides which process may act as the coordinator, and until when. It stands behind
// every election algorithm of a Guarded group: the algorithm nominates, the lease authorises.
//
// A Machine is one process's part in the lease protocol. Each role has a file, which begins with
// the rules of the role and goes on with the code that implements them: voter.go (V1–V10), disk.go
// (V11), groups.go (V12), candidate.go (C1–C9), leaseholder.go (LH1–LH9), preemption.go (P1–P5),
// follower.go (F1–F5). docs/reference/lease.md explains the protocol and why it is safe.
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
