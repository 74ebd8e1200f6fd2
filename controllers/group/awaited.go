package group

import "time"

// leastReportsWithin is how long a manager that starts keeps the status that it finds, if the
// voters do not report sooner: those of a small cluster come back within a few seconds (jittered
// backoff).
const leastReportsWithin = 10 * time.Second

// reportsUntil returns the time until which a process counts as coming back that has not reported
// to this manager yet.
func (o observation) reportsUntil() time.Time {
	return o.prolonged(o.begun.Add(max(leastReportsWithin, o.grace)))
}

// backUntil returns the time until which a process counts as coming back whose connection broke.
func (o observation) backUntil(broke time.Time) time.Time {
	return o.prolonged(broke.Add(o.grace))
}

// prolonged moves such a time while agents come back in great numbers, because nothing tells those
// that a busy manager has yet to let in from those that are gone. To write down all of them as
// gone, and a moment later as back, would keep the manager and the API server from letting them in.
// A time that had passed before they began to come back stays.
func (o observation) prolonged(until time.Time) time.Time {
	awaited := !o.returning.IsZero() && until.After(o.returning)
	if later := o.now.Add(o.grace); awaited && later.After(until) {
		return later
	}
	return until
}
