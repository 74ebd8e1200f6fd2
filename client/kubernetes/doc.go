// Package podesta has a Podesta group decide who leads among the replicas of a program that is
// built on client-go's leader election, in place of a Lease:
//
//	err := podesta.NewLock(nil).Lead(ctx, config) // was leaderelection.RunOrDie(ctx, config)
//
// Package client/kubernetes/controllerruntime, a module of its own, is for what is built on
// controller-runtime.
//
// Each replica asks the agent in its pod; the API server is not asked. The group must be Guarded.
//
// A replica leads while its agent permits it, and stops before the permission ends. client-go alone
// would not keep to that: it goes on leading for RenewDeadline and RetryPeriod after an update of
// its lock has failed, and goes on silently if the next update succeeds, whatever happened in
// between. So this package sets these times and refuses others, ends the contexts of whatever leads
// by itself, and makes every loss final: a Lock that was lost is never held again. As with a Lease,
// a program that has lost ends, and is started again.
//
// If what leads has not stopped when the permission is about to end, the process ends, with
// agent.ExitCode and a line on stderr. A process that was stopped for longer than that ends when it
// goes on: its goroutines may run for an instant before. See Lock.WithoutExit.
//
// The contexts of what leads carry the epoch: fence.EpochOf of package client/fence returns it in a
// Reconcile.
//
// What is not promised: a request that is on its way to the API server when the permission ends
// still takes effect there, because the API server does not check epochs. It was so with a Lease,
// too. Where that matters, fence the writes: keep the epoch in the object, and update it with the
// resourceVersion that was compared.
//
// All replicas of a Deployment use a Lease, or all use Podesta: each would let one of its own lead.
// The way from one to the other is Lock.WithLease, which leads only while it holds both.
package podesta
