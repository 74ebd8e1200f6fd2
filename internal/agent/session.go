package agent

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// A request for a session carries this header. A session ties the process's candidacy to it, so a
// curl, a probe, a crawler or a forged request must not open one by accident: none sends the
// header.
const sessionHeader, sessionOpen = "Podesta-Session", "open"

// noSession is the reply to a request for a session without that header.
const noSession = "a session ties this process's candidacy to it: an app that means to open one " +
	"sends the header " + sessionHeader + ": " + sessionOpen + ", or " + sessionAcknowledged +
	"; to look, read /v1/coordinator"

// againAtLeast is the least time after which a session repeats what has not changed.
const againAtLeast = time.Millisecond

// loopMayLag is how long a session that finds its app's deadline past waits for the agent's loop,
// which revokes the permission, or reads renewals that came while the agent stood still.
const loopMayLag = 50 * time.Millisecond

// followPermission is a session whose connection is the app's only sign of life.
func (a appAPI) followPermission(ctx context.Context, say say) { a.follow(ctx, say, asking{}) }

// followAcknowledged is a session that ends if its app does not answer what it is asked.
func (a appAPI) followAcknowledged(ctx context.Context, say say) {
	a.follow(ctx, say, asking{awaited: a.awaited, log: a.log})
}

// follow is a session. It tells the app whether it may act: now, at each change, when the
// deadline has moved on by a quarter of what is left, and again when a third of the time that it
// was told last has passed. A permission ends at its deadline, because an agent that stands still
// cannot revoke it. An app that is told that it may not act may give its session up, so a deadline
// that has only passed is no news: where the whole agent stood still, the loop may find the
// permission renewed. What was revoked and granted again before this goroutine came to it is told
// as both: in between, the process may have been in another group, where others acted.
func (a appAPI) follow(ctx context.Context, say say, app asking) {
	session := a.ledger.Open()
	defer session.Close()
	defer app.end()
	timer := time.NewTimer(keepAlive)
	defer timer.Stop()
	last, revoked := permissionJSON{}, uint64(0) // the last event; revocations until then
	waitsUntil := lease.Instant(0)               // for the loop; 0: it does not
	for {
		viewed, changed := a.views.Read()
		permitted := a.ledger.Changed()
		if err := app.ask(a.ledger.clocks.Boot(), viewed.Lease, say); err != nil {
			session.endAfter(err)
			return
		}
		count := uint64(0)
		l := a.permission(func() (p lease.Permission, ok bool) {
			p, count, ok = session.use()
			return p, ok
		})
		passed := last.Deadline != nil && !l.MayAct && count == revoked
		now := a.ledger.clocks.Boot()
		if !passed {
			waitsUntil = 0
		} else if waitsUntil == 0 {
			waitsUntil = now + loopMayLag
		}
		waits := now < waitsUntil
		if !waits {
			var err error
			if skipped := last.MayAct && l.MayAct && count != revoked; skipped {
				err = say("permission", a.permission(nothing))
			}
			if err == nil {
				err = say("permission", l)
			}
			if err != nil {
				session.endAfter(err)
				return
			}
			last, revoked = l, count
		}
		again := keepAlive
		if viewed.guarded() && l.MayAct {
			again = max(time.Duration(l.Remaining)*time.Millisecond/3, againAtLeast)
		}
		if waits {
			again = waitsUntil - now
		}
		if app.awaited != nil {
			again = min(again, app.next-a.ledger.clocks.Boot())
		}
		timer.Reset(again)
		select {
		case <-ctx.Done():
		case <-permitted:
		case <-changed:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// nothing is what an app may do whose permission was revoked.
func nothing() (lease.Permission, bool) { return lease.Permission{}, false }
