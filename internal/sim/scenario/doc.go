// Package scenario plays scripts on the books' network: one algorithm, links that lose nothing
// unless the script says so, and nothing of leases or disks. Play plays what happens at given
// times: the tables of docs/evidence/conformance.md and docs/evidence/counterexamples.md, and
// `kubectl election simulate`. Group plays conversations step by step: the goldens of
// internal/election.
//
// Its time is that of package sim, whose scheduler it uses. What is not promised: that a real
// network behaves like this one. Package sim simulates that.
package scenario
