// Package agent asks the Podesta agent beside the app, in the same pod, whether this process may act.
//
//	var c agent.Client
//	p, err := c.Leader(ctx)
//	if err == nil && p.Valid() { … act, under p.Epoch … }
//
// or is told so, as long as it keeps a session open:
//
//	err := c.Follow(ctx, func(p agent.Permission) { … })
//
// A permission holds until its deadline and no longer, whatever else happens: an agent that is paused cannot say stop. So
// ask Valid right before acting, with the permission received last; it reads the clock at that moment. Between that check
// and the act the process may still be paused: where that matters, the resource must check the epoch (package fence).
//
// On Linux the deadline is a reading of CLOCK_BOOTTIME, which the agent and the app share, goes on while the machine is
// suspended, and cannot be set. On other systems, where agents run for development only, it is counted by Go's monotonic
// clock from before the question was sent; that clock may stand still while the machine sleeps.
package agent
