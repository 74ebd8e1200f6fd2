package agent

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// pausedHeader says for how long an app read nothing of its session, in milliseconds: from when an
// event was sent until it read the next one.
const pausedHeader = "Podesta-Paused"

// longestPause is the longest time that is taken; the longest lease of any roster is as long.
const longestPause = 10 * time.Minute

// paused takes the report of an app that it stood still. Such an app needs a longer lease (LH10),
// which no voter refuses: it is never longer than the roster's. So an app that lies makes its own
// process be replaced later, and harms nobody else.
func (a appAPI) paused(w http.ResponseWriter, r *http.Request) {
	text := r.Header.Get(pausedHeader)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > longestPause.Milliseconds() {
		http.Error(w, fmt.Sprintf("the header %s says for how many milliseconds the app read nothing of "+
			"its session, 1 to %d: %.32q does not", pausedHeader, longestPause.Milliseconds(), text),
			http.StatusBadRequest)
		return
	}
	a.ledger.paused(time.Duration(n) * time.Millisecond)
	w.WriteHeader(http.StatusNoContent)
}

// paused tells the agent's loop how long the app read nothing. If the app may not act now, another
// process leads, or nobody: then that says nothing of a lease.
func (l *Ledger) paused(gap time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ledger.Valid(l.clocks.Boot()) {
		l.tellGap(gap)
	}
}

// tellGap tells the loop how long a time was between two answers that the app got. Of several that
// the loop has not read, it gets the longest.
func (l *Ledger) tellGap(gap time.Duration) {
	select {
	case unread := <-l.gaps:
		gap = max(gap, unread)
	default:
	}
	l.gaps <- gap // never blocks: only who holds mu sends, and the channel is empty
}
