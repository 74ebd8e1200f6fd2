package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// log tells people and metrics what happened.
func (a *agent) log(notes []node.Note) {
	for _, n := range notes {
		switch n.Type {
		case node.Follows:
			a.logElection(n)
		case node.Holds:
			a.trace("holds", n, "deadline", int64(n.Until), "lease", n.Lease)
		case node.Asks:
			a.Logger.Info("asks for another lease", "lease", n.Lease, "epoch", n.Epoch,
				"boottime", int64(a.Ledger.clocks.Boot()))
		case node.Delayed:
			a.logDelay(n)
		case node.Revoked:
			a.trace("stops", n, "told", int64(a.Ledger.told()))
		case node.Releases:
			a.trace("releases", n)
		case node.Silent:
			a.Logger.Warn("a process does not answer", "process", n.Process, "within", a.node.T())
		case node.AppSuspected:
			a.Logger.Warn("the app reports that the coordinator does not answer it", "process", n.Process)
		case node.TimedOut:
			if n.Timer == election.AwaitAnnouncement {
				a.Meter.electionTimeouts.Inc()
			}
		case node.Suspects:
			a.Meter.suspicions.Inc()
		case node.WriteFailed:
			a.Meter.writeFailures.Inc()
			a.Logger.Error("the state directory cannot be written: this voter grants no votes and "+
				"acknowledges no roster until it can be; free space on its volume", "error", n.Err)
		case node.RewriteFailed:
			a.Meter.writeFailures.Inc()
			a.Logger.Warn("the state directory could not be written, and what is in it still holds: free "+
				"space on its volume", "error", n.Err)
		case node.Withdraws:
			a.Logger.Warn("the app is unhealthy, or it closed its session: this process is not a "+
				"candidate until the app is healthy and has a session",
				"why", a.node.View().NotCandidate, "reason", a.unhealthy)
		case node.Restored:
			a.Logger.Info("the app is healthy again: this process is a candidate")
		case node.OldRoster:
			a.Logger.Error("the roster is older than one that this voter has used: this process "+
				"neither votes nor acts until it has a newer one", "used", n.Epoch.Generation())
		case node.RosterChanged:
			a.Logger.Info("a new roster is in use", "generation", a.inUse.Generation,
				"processes", len(a.inUse.Processes), "algorithm", a.inUse.Algorithm)
		case node.Exits:
			a.Logger.Info("this process takes part in no group now")
		default: // Refused is an error of update; the rest is for the simulator
		}
	}
}

func (a *agent) logElection(n node.Note) {
	last := n.Account
	a.Meter.elected(a.inUse.Algorithm, last, n.Process == a.Self)
	a.Accounts.add(last, time.Now().Add(last.Begun-a.Ledger.clocks.Boot()))
	a.Logger.Info("follows", "coordinator", n.Process, "epoch", n.Epoch, "reason", last.Reason,
		"initiator", last.Initiator, "sent", last.Sent, "took", last.Duration)
	a.Logger.Debug("election", "transcript", last)
}

// trace logs what becomes of this process's lease, on the clock that all processes of a machine
// share.
func (a *agent) trace(state string, n node.Note, more ...any) {
	a.Logger.Info("lease", append([]any{"state", state, "epoch", n.Epoch,
		"incarnation", a.Incarnation, "boottime", int64(a.Ledger.clocks.Boot())}, more...)...)
}

// logDelay counts and logs a lease that ran out, or became longer, with who was late.
func (a *agent) logDelay(n node.Note) {
	d := n.Delay
	a.Meter.delays.inc(d.Late)
	parts := []any{"late", d.Late, "gap", d.Gap}
	if d.Late != lease.LateApp {
		parts = append(parts, "own", d.Own, "rounds", d.Rounds, "granted", d.Granted)
	}
	parts = append(parts, "epoch", n.Epoch, "boottime", int64(a.Ledger.clocks.Boot()))
	if d.Lapsed {
		a.Meter.lapses.Inc()
		a.Logger.Warn("the lease ran out before it was renewed", parts...)
	} else {
		a.Logger.Info("the lease becomes longer", parts...)
	}
}
