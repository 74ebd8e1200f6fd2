package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
)

// maxLines bounds a transcript; of a longer election the newest lines are kept.
const maxLines = 64

// LastElection is this process's account of the election that gave it its coordinator.
type LastElection struct {
	election.Account
	Duration   time.Duration // from losing the coordinator to following one
	Transcript []string
}

// String is the transcript, line by line.
func (l *LastElection) String() string { return strings.Join(l.Transcript, "\n") }

// episode is the time without a coordinator, with what was said in it.
type episode struct {
	begun time.Time // zero: there is none
	lines []line    // a ring buffer once it is full
	count int
}

type line struct {
	at       time.Duration
	from, to string
	message  election.Message
}

// begin opens the episode unless it is open.
func (e *episode) begin(now time.Time) {
	if e.begun.IsZero() {
		e.begun, e.lines, e.count = now, e.lines[:0], 0
	}
}

func (e *episode) open() bool { return !e.begun.IsZero() }

// record notes a message of the election.
func (e *episode) record(now time.Time, from, to string, m election.Message) {
	l := line{at: now.Sub(e.begun), from: from, to: to, message: m}
	if len(e.lines) < maxLines {
		e.lines = append(e.lines, l)
	} else {
		e.lines[e.count%maxLines] = l
	}
	e.count++
}

// end closes the episode and tells of it.
func (e *episode) end(now time.Time, account election.Account) *LastElection {
	last := &LastElection{Account: account, Duration: now.Sub(e.begun)}
	first := max(0, e.count-maxLines)
	for i := first; i < e.count; i++ {
		l := e.lines[i%maxLines]
		last.Transcript = append(last.Transcript, fmt.Sprintf("%8.3f ms  %s → %s  %s %s",
			float64(l.at.Microseconds())/1000, l.from, l.to, l.message.Kind, l.message.Process))
	}
	e.begun = time.Time{}
	return last
}

// cancel forgets an episode that turned out to be none.
func (e *episode) cancel() { e.begun = time.Time{} }
