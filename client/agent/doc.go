// Package agent asks the Podesta agent in the same pod whether this process may act.
//
//	var c agent.Client
//	err := c.Run(ctx, func(ctx context.Context, epoch agent.Epoch) error { … act until ctx ends … })
//
// Run calls the work whenever this process may act, with a context that ends in time. What does not
// fit into that keeps a session open itself, in which the agent sends every change, or asks:
//
//	err := c.KeepSession(ctx, func(p agent.Permission) { … })
//
//	p, err := c.MayAct(ctx)
//	if err == nil && p.Valid() { … act, under p.Epoch … }
//
// A permission holds until its deadline and no longer, because an agent that is paused cannot
// revoke it. So call Valid right before acting, on the permission received last: Valid reads the
// clock at that moment. The process may still be paused between that check and the action. Where
// that matters, the resource must check the epoch (package fence).
//
// On Linux the deadline is a reading of CLOCK_BOOTTIME. The agent and the app share this clock; it
// advances while the machine is suspended, and it cannot be set. On other systems, where agents run
// for development only, the deadline is counted by Go's monotonic clock from before the request was
// sent; that clock may stop while the machine sleeps.
package agent
