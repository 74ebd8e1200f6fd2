package detector

import "time"

// mistakes is what a detector learns from its mistakes: it named a process silent, and the answer
// came after all. Whoever suspects wrongly waits longer from then on (Chandra and Toueg 1996). An
// election is up to n² messages, so where many processes share few cores, one mistake would cause
// the next, and the group would elect for ever.
//
// The late answer says how long T should have been. But one process that is late may have stood
// still for once: T becomes no more than twice as long as it was. What two processes took, each of
// them, is what the machine takes that they share: T becomes twice that. When there has been no
// mistake for a while, T is halved, and who was late is forgotten. If it was halved too early,
// because it was long enough before, or was to grow still, the while becomes twice as long.
type mistakes struct {
	least  time.Duration // T is not shorter than this
	by     string        // the process that was late for longest, since T was halved
	late   time.Duration // so long
	ease   Instant       // when it is halved next; 0: there was no mistake
	calm   int           // how many times least there must be no mistake before that
	halved bool          // since the last mistake
	capped bool          // after the last mistake T is shorter than its answer asks for
}

// Bounds of calm.
const (
	shortestCalm = 16
	longestCalm  = 64
)

// tooLate is how many times what T may become an answer may take, to teach something.
const tooLate = 4

// made takes a mistake: the answer of a process took so long, and did not come within T, as T was
// then. One that took much longer than T may become teaches nothing: the process stood still, or
// was cut off.
func (m *mistakes) made(by string, took, within, longest time.Duration, now Instant) {
	if took > tooLate*longest {
		return
	}
	m.calm = max(m.calm, shortestCalm)
	if m.halved && (m.capped || took <= 2*m.least) { // it was halved too early
		m.calm = min(2*m.calm, longestCalm)
	}
	m.halved = false
	asked := min(2*took, longest) // so long T is to be, if the machine is slow
	var shared time.Duration      // what two processes took
	if by != m.by {
		shared = min(took, m.late)
	}
	if by == m.by || took > m.late {
		m.by, m.late = by, max(m.late, took)
	}
	m.least = max(m.least, min(asked, 2*max(shared, within)))
	m.capped = m.least < asked
	m.ease = now + time.Duration(m.calm)*m.least
}

// forget halves the least T if there was no mistake for long enough. Once what is measured is as
// long, the mistakes are forgotten.
func (m *mistakes) forget(measured time.Duration, now Instant) {
	if m.ease == 0 || now < m.ease {
		return
	}
	if m.least <= measured {
		*m = mistakes{}
		return
	}
	m.least /= 2
	m.by, m.late = "", 0
	m.halved, m.ease = true, now+time.Duration(m.calm)*max(m.least, measured)
}
