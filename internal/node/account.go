package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// maxLines bounds what is kept of an election's messages; of a longer one the newest are kept.
const maxLines = 64

// Account is what this process can tell of the election that gave it its coordinator.
type Account struct {
	election.Account
	// Number counts the accounts of this incarnation, from 1: a higher one is of later.
	Number      uint64
	Coordinator string        // whom the process followed in the end; empty: it goes on
	Begun       lease.Instant // when the process lost its coordinator, or first took part
	Duration    time.Duration // from then until it followed one, or until now
	// Epoch is that of the lease when this process began to follow it; zero in a Classic group. It
	// stays when the epoch changes in place (LH5, LH9): that is no election.
	Epoch lease.Epoch
	// Messages are the newest ones that this process sent and received, in its order: from a little
	// before it took part, for it may have passed messages on without that. Omitted is how many more
	// there were at the beginning.
	Messages []Exchange
	Omitted  int
	// Late is what this process sent and received after the account before this one, and still has
	// to do with that election: answers to those that have yet to hear of its end.
	Late []Exchange
}

// Exchange is a message of an election, as its sender or its receiver tells of it. From,
// Incarnation and Sequence are its identity: the same at both, and that of no other message. The
// sequence counts all that an incarnation sends of elections, so it is one number on the wire, and
// tells the order of sendings even of a process that gives no account.
type Exchange struct {
	At          lease.Instant // when this process sent or received it
	From, To    string
	Incarnation uint64 // of the sender
	Sequence    uint64
	Kind        election.Kind
	Process     string // whom the message is about
}

// Transcript is what was said in the election, a line for each message.
func (a *Account) Transcript() []string {
	text := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		text[i] = fmt.Sprintf("%8.3f ms  %s → %s  %s %s",
			float64((m.At-a.Begun).Microseconds())/1000, m.From, m.To, m.Kind, m.Process)
	}
	return text
}

// String is the transcript, line by line.
func (a *Account) String() string { return strings.Join(a.Transcript(), "\n") }

// episode is the time without a coordinator, with what was said in it, and around it.
type episode struct {
	begun   lease.Instant // 0: there is none
	ended   lease.Instant // when the last one did
	lines   []Exchange    // since then, the newest ones
	omitted int           // so many older ones of this episode were not kept
	number  uint64        // of the last account; 0: there was none
	// of the election that named whoever is to coordinate
	account election.Account
}

// begin opens the episode unless it is open.
func (e *episode) begin(now lease.Instant) {
	if e.begun == 0 {
		e.begun, e.omitted = now, 0
	}
}

func (e *episode) open() bool { return e.begun != 0 }

// record notes a message of the election algorithm.
func (e *episode) record(m Exchange) {
	if len(e.lines) == maxLines {
		if e.open() && e.lines[0].At >= e.begun {
			e.omitted++
		}
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, m)
}

// tell gives an account of the episode so far. Messages that are no further from an episode than
// around belong to it; between two, to the nearer one.
func (e *episode) tell(now lease.Instant, around time.Duration) *Account {
	told := &Account{
		Number:   e.number + 1,
		Begun:    e.begun,
		Duration: now - e.begun,
		Late:     e.late(around),
		Omitted:  e.omitted,
	}
	for _, m := range e.lines[len(told.Late):] {
		if m.At >= e.begun-around {
			told.Messages = append(told.Messages, m)
		}
	}
	return told
}

// late are the messages since the last episode that belong to it.
func (e *episode) late(around time.Duration) []Exchange {
	n := 0
	for n < len(e.lines) && e.number > 0 && e.lines[n].At <= e.ended+around &&
		(!e.open() || e.lines[n].At-e.ended < e.begun-e.lines[n].At) {
		n++
	}
	return slices.Clone(e.lines[:n])
}

// end closes the episode and tells of it: now a coordinator is followed, under that epoch.
func (e *episode) end(now lease.Instant, around time.Duration, coordinator string,
	epoch lease.Epoch) *Account {
	last := e.tell(now, around)
	last.Account, last.Coordinator, last.Epoch = e.account, coordinator, epoch
	e.begun, e.ended, e.number, e.lines = 0, now, last.Number, e.lines[:0]
	return last
}

// cancel forgets an episode that turned out to be none.
func (e *episode) cancel() { e.begun = 0 }

// around is how long before and after an episode messages belong to it: as long as an answer is
// waited for.
func (n *Node) around() time.Duration { return 2 * max(n.roster.Timeout, n.detector.T()) }

// Latest returns what has come since View.Last: an account of the election that this process takes
// part in now, which says neither who called it nor why; nil: of none. Late is what belongs to the
// election of View.Last still.
func (n *Node) Latest(now lease.Instant) (unfinished *Account, late []Exchange) {
	if n.roster == nil {
		return nil, nil
	}
	if n.episode.open() {
		unfinished = n.episode.tell(now, n.around())
	}
	return unfinished, n.episode.late(n.around())
}

// say sends a message of the election algorithm.
func (n *Node) say(to string, m election.Message) {
	n.said++
	n.send(Message{
		Type:      Election,
		To:        to,
		Algorithm: n.roster.Algorithm,
		Sequence:  n.said,
		Election:  m,
	})
	n.episode.record(Exchange{
		At:          n.now.Boot,
		From:        n.self.Name,
		To:          to,
		Incarnation: n.self.Number,
		Sequence:    n.said,
		Kind:        m.Kind,
		Process:     m.Process,
	})
}

// hear notes that a message of the election algorithm came.
func (n *Node) hear(e *Event) {
	n.episode.record(Exchange{
		At:          n.now.Boot,
		From:        e.From,
		To:          n.self.Name,
		Incarnation: e.Incarnation,
		Sequence:    e.Message.Sequence,
		Kind:        e.Message.Election.Kind,
		Process:     e.Message.Election.Process,
	})
}
