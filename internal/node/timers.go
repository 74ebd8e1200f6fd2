package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// longestPause is after how long a Tick is due if nothing else asks for one.
const longestPause = time.Hour

// alarms are when the timers of the election algorithm run out, in the order in which they are
// looked at; 0: not set.
type alarms [3]lease.Instant

var timers = [len(alarms{})]election.Timer{
	election.AwaitAnswer,
	election.AwaitAnnouncement,
	election.AwaitStragglers,
}

// setAlarms sets and stops timers. The algorithms count them in units of T, as measured now.
func (n *Node) setAlarms(ops []election.TimerOp) {
	for _, op := range ops {
		for i, name := range timers {
			if op.Timer != name {
				continue
			}
			n.alarms[i] = 0
			if op.Wait > 0 {
				n.alarms[i] = n.now.Boot + time.Duration(op.Wait)*n.detector.T()
			}
		}
	}
}

// expireTimers lets those run out whose time has come.
func (n *Node) expireTimers() {
	for i, name := range timers {
		if at := n.alarms[i]; at != 0 && n.now.Boot >= at {
			n.alarms[i] = 0
			n.note(Note{Type: TimedOut, Timer: name})
			n.elect(election.Event{Type: election.Timeout, Timer: name})
		}
	}
}
