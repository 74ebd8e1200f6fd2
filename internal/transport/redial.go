package transport

import (
	"time"

	"github.com/podesta-dev/podesta/internal/backoff"
)

const (
	// limits the pause after the first failed attempt; it doubles with every further one
	firstPause   = 10 * time.Millisecond
	maxDoublings = 16
)

// failuresAfter returns the number of failures that the next attempt starts with after a link was
// up. A link that lasted is made again at once. One that did not last, for example because the peer
// rejects what this process sends, must not be made again at once for ever. A process that left
// connects to us when it is back.
func failuresAfter(failures int, lasted bool, evidence Evidence) int {
	switch {
	case evidence == Left:
		return maxDoublings
	case lasted:
		return 0
	default:
		return failures + 1
	}
}

// pause waits before the next attempt: not at all before the first, then for a random time below a
// bound that doubles (full jitter). It ends early when the peer connects to us. It returns false if
// there must not be another attempt.
func (l *link) pause(failures int) bool {
	if failures > 0 {
		wait := backoff.Wait(firstPause, l.hub.reconnect(), failures)
		if l.member.Address == "" { // which comes with a new link
			wait = l.hub.grace
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.hurried:
		case <-l.retiring:
		case <-l.ctx.Done():
		}
	}
	return l.ctx.Err() == nil && !isClosed(l.retiring)
}
