package roster

import (
	"math/rand/v2"
	"time"

	"github.com/podesta-dev/podesta/internal/backoff"
)

// How agents come back to a manager. The agents of a cluster lose the leading manager all at once,
// and the next one leads a moment later. A small cluster is to be back at once; a big one must not
// keep the next manager from its work, or flood the place where the last one was.
//
//   - While a manager leads, it tells its agents over what time they are to spread their return: so
//     long that about returnsPerSecond of them come in a second.
//   - For failoverWithin after a steady subscription, an agent waits for a random part of that time
//     between two attempts, so there are two to three times as many attempts in a second as may
//     come back.
//   - Then there is no manager, or a busy one, and what bounds the waits grows from minBackoff to
//     maxBackoff (full jitter); but it is never below the time that a manager has told. It is the
//     same for an agent that has had no steady subscription yet.
//
// A manager counts the processes on all rosters, also those that have not come back to it yet. An
// agent knows how many there were when it was told, at the start of its subscription and with each
// roster. Where a cluster has grown tenfold since, a few times returnsPerSecond come at first; what
// a manager does with too many is in package connlimit.
const (
	minBackoff = time.Second
	maxBackoff = 15 * time.Second
	// steady is how long a subscription lasts, since the manager answered, that counts as a
	// success: not that of a manager that accepts and closes at once.
	steady = 10 * time.Second
	// failoverWithin is longer than it takes until another manager leads and can be reached, if one
	// stands by and the machines have time for it.
	failoverWithin = 10 * time.Second
	// returnsPerSecond is what a manager with two to three cores lets in: each costs a handshake, a
	// report, a roster and some passes, 2 to 3 ms of CPU time (docs/evidence/measurements.md). One
	// with fewer cores sends away those that are too many, and they come again.
	returnsPerSecond = 1000
	minReturnWithin  = 500 * time.Millisecond
)

// spreadOver returns over what time so many agents are to spread their return.
func spreadOver(agents int) time.Duration {
	return limitReturn(time.Duration(agents) * time.Second / returnsPerSecond)
}

// Grace is how long an agent may take to come back whose connection has broken: twice the time over
// which all of them would spread their return, because some need a second attempt.
func (s *Server) Grace() time.Duration { return 2 * spreadOver(s.publisher.agents()) }

func limitReturn(d time.Duration) time.Duration {
	return min(max(d, minReturnWithin), maxBackoff)
}

// reconnection decides how long an agent waits between attempts to reach a manager.
type reconnection struct {
	first, most time.Duration // minBackoff and maxBackoff; less in tests

	within time.Duration // as a manager has told; 0: none has
	// when the manager answered in the subscription that is open; zero: it has not
	answered time.Time
	lost     time.Time // when the last steady subscription ended; zero: there was none
	failures int       // attempts since failoverWithin has passed, or from the beginning
}

// told takes note of what a manager says in each update; 0: nothing.
func (b *reconnection) told(milliseconds int32) {
	if milliseconds > 0 {
		b.within = limitReturn(time.Duration(milliseconds) * time.Millisecond)
	}
}

// follows takes note that the manager has answered. The subscription that
// follows a renewal of the certificate counts as the same one.
func (b *reconnection) follows(now time.Time) {
	if b.answered.IsZero() {
		b.answered = now
	}
}

// next returns how long to wait after an attempt, or a subscription, that has ended now. often
// reports whether such attempts follow each other so fast that one of them says it all.
func (b *reconnection) next(now time.Time) (wait time.Duration, often bool) {
	if !b.answered.IsZero() && now.Sub(b.answered) >= steady {
		b.lost, b.failures = now, 0
	}
	b.answered = time.Time{}
	told := min(b.within, b.most)
	if b.recovering(now) {
		return rand.N(told) + 1, now.After(b.lost)
	}
	b.failures++
	return rand.N(max(backoff.Ceiling(b.first, b.most, b.failures), told)) + 1, false
}

// recovering reports whether the agents of the cluster may be about to come back to the next
// manager.
func (b *reconnection) recovering(now time.Time) bool {
	return b.within > 0 && !b.lost.IsZero() && now.Sub(b.lost) < failoverWithin
}
