// Package node is one process of a group as one pure machine: the election algorithm nominates, the
// failure detector suspects, and in a Guarded group the lease protocol authorises.
//
// An Event goes in, a Ready comes out: data that says what to do, in which order. Whoever drives a
// Node (internal/agent, internal/sim) reads the clocks, carries messages, writes to the disk and
// serves the app. It decides nothing.
//
// # What a driver does
//
// It carries out every Ready, of [Node.Step] and of [Node.Advance] alike, in this order:
//
//  1. ready.Revoke: take the permission from the app, before anything else
//  2. ready.Write:    begin to write it to the disk, and go on; report the outcome by Advance
//  3. ready.Exited, ready.Roster: who may send to us; ready.Links: whom to link to. (2 may also
//     come after 3: the write only begins.)
//  4. ready.Messages: send them, in this order; links that are not wanted any more end after that
//  5. ready.Permission: what the app may be granted from now on
//  6. ready.Changed: publish View; ready.Behind: ask the manager for a newer roster;
//     ready.Left: the process may end; ready.Notes: log them
//  7. note ready.Next: Step(Tick) is due then, at the latest
//  8. ready.Revoke: Step(Told), with what the app had been told; it makes a new Ready
//
// Any event may come at any time. Before the first roster, and after Ready.Exited, events of links
// and messages change nothing.
//
// # Writes
//
// Several writes may be outstanding. Each holds the whole state, so a driver that is behind writes
// the newest only and reports that one: Advance(k, nil) covers every write up to k. What depends on
// a write waits for it inside the Node, the process's own vote included, and comes out of Advance;
// everything else goes on.
//
// When Advance reports that a write failed, all writes that were begun until then count as failed.
// Nothing that depended on them is ever sent, the process holds no lease, and its voter grants
// nothing until a later write has succeeded and one lease has passed.
//
// # What is not promised
//
// A Node is not safe for concurrent use, and a Ready is valid until the next Step or Advance only.
// The package imports the standard library and the machines it joins.
package node
