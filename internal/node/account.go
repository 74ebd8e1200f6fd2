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
	// Number counts the accounts of this incarnation, from 1: a higher one is of later.
	Number      uint64
	Coordinator string        // whom the process followed in the end; empty: it goes on
	Begun       lease.Instant // when the process lost its coordinator, or first took part
	Duration    time.Duration // from then until it followed one, or until now
	// Epoch is that of the lease when this process began to follow it; zero in a Classic group. It
	// stays when the epoch changes in place (LH5, LH9): that is no election.
	Epoch lease.Epoch
	// Messages are the newest ones that this process sent and received, in its order. Omitted is how
	// many came before them, and were not kept.
	Messages []Exchange
	Omitted  int
}

// Exchange is a message of an election, as its sender or its receiver tells of it. From, Incarnation
// and Sequence are its identity: the same at both, and that of no other message. The sequence
// counts all that an incarnation sends of elections, so it is one number on the wire, and tells
// the order of sendings even of a process that gives no account.
type Exchange struct {
	At          time.Duration // since the account began, by this process's clock
	From, To    string
	Incarnation uint64 // of the sender
	Sequence    uint64 // 0: the sender is of a release that numbers nothing
	Kind        election.Kind
	Process     string // whom the message is about
}

// Transcript is what was said in the election, a line for each message.
func (a *Account) Transcript() []string {
	text := make([]string, len(a.Messages))
	for i, m := range a.Messages {
		text[i] = fmt.Sprintf("%8.3f ms  %s → %s  %s %s",
			float64(m.At.Microseconds())/1000, m.From, m.To, m.Kind, m.Process)
	}
	return text
}

// String is the transcript, line by line.
func (a *Account) String() string { return strings.Join(a.Transcript(), "\n") }

// episode is the time without a coordinator, with what was said in it.
type episode struct {
	begun   lease.Instant // 0: there is none
	lines   []Exchange    // a ring buffer once it is full
	count   int
	number  uint64           // of the last account
	account election.Account // of the election that named whoever is to coordinate
}

// begin opens the episode unless it is open.
func (e *episode) begin(now lease.Instant) {
	if e.begun == 0 {
		e.begun, e.lines, e.count = now, e.lines[:0], 0
	}
}

func (e *episode) open() bool { return e.begun != 0 }

// record notes a message of the election, at the present instant.
func (e *episode) record(now lease.Instant, m Exchange) {
	m.At = now - e.begun
	if len(e.lines) < maxLines {
		e.lines = append(e.lines, m)
	} else {
		e.lines[e.count%maxLines] = m
	}
	e.count++
}

// tell gives an account of the episode so far.
func (e *episode) tell(now lease.Instant) *Account {
	oldest := e.count % maxLines // behind the newest, in a buffer that is full
	return &Account{
		Number:   e.number + 1,
		Begun:    e.begun,
		Duration: now - e.begun,
		Messages: slices.Concat(e.lines[oldest:], e.lines[:oldest]),
		Omitted:  e.count - len(e.lines),
	}
}

// end closes the episode and tells of it: now a coordinator is followed, under that epoch.
func (e *episode) end(now lease.Instant, coordinator string, epoch lease.Epoch) *Account {
	last := e.tell(now)
	last.Account, last.Coordinator, last.Epoch = e.account, coordinator, epoch
	e.begun, e.number = 0, last.Number
	return last
}

// cancel forgets an episode that turned out to be none.
func (e *episode) cancel() { e.begun = 0 }

// Unfinished returns an account of the election that this process takes part in now; nil: of none.
// It says neither who called it nor why.
func (n *Node) Unfinished() *Account {
	if n.roster == nil || !n.episode.open() {
		return nil
	}
	return n.episode.tell(n.now.Boot)
}

// say records and sends a message of the election algorithm. Each gets a number, whether it is
// recorded or not.
func (n *Node) say(to string, m election.Message) {
	n.said++
	n.send(Message{
		Type:      Election,
		To:        to,
		Algorithm: n.roster.Algorithm,
		Sequence:  n.said,
		Election:  m,
	})
	if n.episode.open() {
		n.episode.record(n.now.Boot, Exchange{
			From:        n.self.Name,
			To:          to,
			Incarnation: n.self.Number,
			Sequence:    n.said,
			Kind:        m.Kind,
			Process:     m.Process,
		})
	}
}

// hear records a message of the election algorithm that came.
func (n *Node) hear(e *Event) {
	n.episode.record(n.now.Boot, Exchange{
		From:        e.From,
		To:          n.self.Name,
		Incarnation: e.Incarnation,
		Sequence:    e.Message.Sequence,
		Kind:        e.Message.Election.Kind,
		Process:     e.Message.Election.Process,
	})
}
