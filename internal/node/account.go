package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// maxLines bounds a transcript; of a longer election the newest lines are kept.
const maxLines = 64

// Account is what this process can tell of the election that gave it its coordinator.
type Account struct {
	election.Account
	Duration time.Duration // from losing the coordinator to following one
	// Epoch is that of the lease when this process began to follow it; zero in a Classic group. It
	// stays when the epoch changes in place (LH5, LH9): that is no election.
	Epoch lease.Epoch
	lines []line // the newest ones, bounded
}

// Transcript is what was said in the election, a line for each message.
func (a *Account) Transcript() []string {
	text := make([]string, len(a.lines))
	for i, l := range a.lines {
		text[i] = fmt.Sprintf("%8.3f ms  %s → %s  %s %s",
			float64(l.at.Microseconds())/1000, l.from, l.to, l.kind, l.process)
	}
	return text
}

// String is the transcript, line by line.
func (a *Account) String() string { return strings.Join(a.Transcript(), "\n") }

// episode is the time without a coordinator, with what was said in it.
type episode struct {
	begun   lease.Instant // 0: there is none
	lines   []line        // a ring buffer once it is full
	count   int
	account election.Account // of the election that named whoever is to coordinate
}

type line struct {
	at       time.Duration
	from, to string
	kind     election.Kind
	process  string
}

// begin opens the episode unless it is open.
func (e *episode) begin(now lease.Instant) {
	if e.begun == 0 {
		e.begun, e.lines, e.count = now, e.lines[:0], 0
	}
}

func (e *episode) open() bool { return e.begun != 0 }

// record notes a message of the election.
func (e *episode) record(now lease.Instant, from, to string, m election.Message) {
	l := line{at: now - e.begun, from: from, to: to, kind: m.Kind, process: m.Process}
	if len(e.lines) < maxLines {
		e.lines = append(e.lines, l)
	} else {
		e.lines[e.count%maxLines] = l
	}
	e.count++
}

// end closes the episode and tells of it: now a coordinator is followed, under that epoch.
func (e *episode) end(now lease.Instant, epoch lease.Epoch) *Account {
	oldest := e.count % maxLines // behind the newest, in a buffer that is full
	last := &Account{
		Account:  e.account,
		Duration: now - e.begun,
		Epoch:    epoch,
		lines:    slices.Concat(e.lines[oldest:], e.lines[:oldest]),
	}
	e.begun = 0
	return last
}

// cancel forgets an episode that turned out to be none.
func (e *episode) cancel() { e.begun = 0 }
