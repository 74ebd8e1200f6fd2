// Package lease says who may act, and until when: the gate behind every election algorithm of a Guarded group. The algorithm
// nominates, lease authorises. docs/reference/lease.md is the protocol, with a proof sketch; the rule numbers there stand here at the code.
//
// A Machine is one process's part in it: voter, candidate, holder and follower at once, a file each. It is pure: a reading of the
// clock and an event go in, requests, a response and advice to the election machine come out; the same seed and the same events give
// the same output. Whoever drives it (internal/agent, the simulator) keeps time, carries requests, and syncs its State to the
// disk before anything goes out that depends on it.
//
// What is not promised: a Machine is not safe for concurrent use, and the slices of an Output are valid until the next Step only. The
// package imports the standard library only; the linter checks.
package lease
