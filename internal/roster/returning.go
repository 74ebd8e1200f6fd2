package roster

import (
	"sync"
	"time"
)

const (
	// returnShare says what counts as a great number of agents: one in so many of all, and of at least
	// returnsPerSecond, because fewer keep no manager busy.
	returnShare = 20
	// longestReturn is how long great numbers count that come without end, because all statuses wait
	// for them: those of one namespace may go and come back again and again. 18,000 agents were back
	// after 80 s on two cores that were busy with that.
	longestReturn = 5 * time.Minute
)

// returns notices that agents come back in great numbers. An agent that a manager has not let in
// yet looks like one that is gone. How long it takes until all are in, nobody knows beforehand: it
// depends on the cores of the manager and of the API server (see reconnection).
type returns struct {
	mu        sync.Mutex
	connected int       // agents, when they were counted last
	counted   time.Time // not more than a Grace ago
	progress  time.Time // when a great number was found to have come, the last time
	began     time.Time // and the first time, of this return
}

// Returning returns since when agents have been coming back in great numbers, without a Grace in
// which they did not; zero: they do not come back, all but a few have for a Grace, or they have
// done so for longestReturn.
func (s *Server) Returning() time.Time {
	return s.returns.since(s.Sightings.Connected(), s.publisher.agents(), s.Grace(), s.Now())
}

// since decides it for a time at which so many agents are connected of all that there may be.
func (r *returns) since(connected, all int, grace time.Duration, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	underWay := now.Sub(r.progress) < grace
	came := connected - r.connected
	switch {
	case connected*returnShare >= all*(returnShare-1), came < 0, now.Sub(r.counted) > grace:
		r.connected, r.counted = connected, now
	case came*returnShare >= max(all, returnsPerSecond):
		r.connected, r.counted = connected, now
		r.progress = now
		if !underWay {
			r.began, underWay = now, true
		}
	}
	if underWay && now.Sub(r.began) < longestReturn {
		return r.began
	}
	return time.Time{}
}
