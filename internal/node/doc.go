// Package node is one process of a group as one pure machine: the election algorithm nominates, the
// failure detector suspects, and in a Guarded group the lease protocol authorises.
//
// An Event goes in, a Ready comes out: data that says what to do, in which order. Whoever drives a
// Node (internal/agent, internal/sim) reads the clocks, carries messages, writes to the disk and
// serves the app. It decides nothing.
//
//	ready := n.Step(event)
//	1. ready.Withdraw: take the permission from the app, before anything else
//	2. ready.Write:    begin to write it to the disk, and go on; report the outcome by Advance
//	3. ready.Exited, ready.Roster: who may send to us; ready.Links: whom to link to
//	4. ready.Messages: send them, in this order; links that are not wanted any more end after that
//	5. ready.Permission: what the app may be granted from now on
//	6. ready.Withdraw: Step(Told), with what the app had been told
//	7. call Step(Tick) at ready.Next, at the latest
//
// Several writes may be outstanding. Each holds the whole state, so a driver that is behind writes
// the newest only and reports that one: Advance(k, nil) covers every write up to k. What depends on
// a write waits for it inside the Node, the process's own vote included, and comes out of Advance;
// everything else goes on. A write that fails takes with it every write that was begun before its
// failure was reported: nothing that depended on them is ever sent, the process holds no lease, and
// its voter grants nothing until a later write has succeeded and one lease has passed.
//
// What is not promised: a Node is not safe for concurrent use, and a Ready is valid until the next
// Step or Advance only. The package imports the standard library and the machines it joins.
package node
