// Package fence refuses writes of processes that no longer coordinate, at the resource that they
// write to.
//
// In a Guarded group every lease has an epoch: an integer that belongs to one process and only
// grows. A process that acts sends its epoch along; the resource remembers the highest that it has
// seen and refuses lower ones. No clock is involved, so it holds under any pause: garbage
// collection, SIGSTOP, CPU throttling, a virtual machine that moves.
//
// The check and the effect must be one atomic step at the resource. In a resource that checks,
// pauses, and then writes, the gap between the check and the write is still there. So there is
// Gate.Do, which runs the effect while no higher epoch can be admitted; Handler, which does so for
// an HTTP server; and CheckRows, for databases that check and write in one statement or
// transaction.
//
//	gate, err := fence.Open("/data/epoch")  // survives restarts; a Gate{} lives in memory
//	err = gate.Do(epoch, func() error { return store.Put(key, value) })
//	if errors.Is(err, fence.ErrStale) { … }  // the caller must stop: another process coordinates
//
// Send the epoch under which the work began, not the one that is current when it is sent: a
// process that lost its lease and won another would lend the new epoch to what it decided under
// the old one. WithEpoch binds the epoch to the work's context.
//
// What is not promised: a fence protects from slow processes, not from malicious ones; who may
// write, and hence who may name an epoch, is for authentication to decide. One resource has one
// gate: two servers with a gate each do not protect a resource that they share.
package fence
