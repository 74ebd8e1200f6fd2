package agent

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/trace"
)

// The bounds of what is kept of elections. Each account has at most as many messages as package
// node keeps, and once more as many late ones; the links bound the names in messages.
const (
	maxAccounts = 10
	// in bytes, of all accounts together, as accountBytes counts them; the newest is kept even if it
	// has more, which takes the longest names
	maxAccountBytes = 128 << 10
)

// Accounts keeps what this process can tell of its last elections, for GET /v1/elections. A restart
// of the agent forgets them. Safe for concurrent use.
type Accounts struct {
	asks chan chan<- latest // the loop answers

	mu        sync.Mutex
	running   bool // the loop answers
	told      trace.Accounts
	algorithm string
	begun     lease.Instant // of the newest of told.Elections
	bytes     int           // of told.Elections
}

// latest is what the loop can tell beyond the accounts of elections that have ended.
type latest struct {
	unfinished *node.Account   // of the election that goes on; nil: none does
	late       []node.Exchange // of the last election that ended
	number     uint64          // of the account of that one
}

// NewAccounts returns accounts of no elections.
func NewAccounts() *Accounts {
	return &Accounts{
		asks: make(chan chan<- latest),
		told: trace.Accounts{Elections: []trace.Account{}},
	}
}

// run says whose accounts these are. The loop answers from then on, until stop.
func (a *Accounts) run(process string, incarnation uint64) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running, a.told.Process, a.told.Incarnation = true, process, incarnation
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.running = false
	}
}

// belong says of which group the accounts are from now on.
func (a *Accounts) belong(group, algorithm string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told.Group, a.algorithm = group, algorithm
}

// add keeps the account of an election that has ended. Older ones make room for it.
func (a *Accounts) add(account *node.Account, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	newest := tell(account, began)
	newest.Algorithm = a.algorithm
	newest.Initiator, newest.Reason = account.Initiator, string(account.Reason)
	if account.Decision.Initiator != "" {
		newest.ID = account.Decision.String()
	}
	kept := slices.Insert(a.withLate(account.Late), 0, newest)
	a.begun, a.bytes = account.Begun, 0
	for i, e := range kept {
		if a.bytes += accountBytes(e); i > 0 && a.bytes > maxAccountBytes || i == maxAccounts {
			a.bytes -= accountBytes(e)
			kept = slices.Clone(kept[:i])
			break
		}
	}
	a.told.Elections = kept
}

// withLate is a copy of the elections, the newest with what was said after it ended.
func (a *Accounts) withLate(late []node.Exchange) []trace.Account {
	elections := slices.Clone(a.told.Elections)
	if len(elections) > 0 {
		newest := &elections[0]
		newest.Messages = slices.Concat(newest.Messages, messages(late, a.begun))
	}
	return elections
}

// read returns all that is known, with the latest. A loop that does not answer in time leaves that
// out.
func (a *Accounts) read(ctx context.Context) trace.Accounts {
	now := a.ask(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.told
	newest := uint64(0)
	if len(told.Elections) > 0 {
		newest = told.Elections[0].Number
	}
	if newest != now.number { // an election has ended meanwhile, and its account has the rest
		return told
	}
	told.Elections = a.withLate(now.late)
	if u := now.unfinished; u != nil {
		account := tell(u, time.Now().Add(-u.Duration))
		account.Algorithm = a.algorithm
		told.Elections = slices.Insert(told.Elections, 0, account)
	}
	return told
}

// ask asks the loop.
func (a *Accounts) ask(ctx context.Context) latest {
	a.mu.Lock()
	running := a.running
	a.mu.Unlock()
	if !running {
		return latest{}
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer := make(chan latest, 1) // the loop never waits for who has asked
	select {
	case a.asks <- answer:
	case <-ctx.Done():
		return latest{}
	}
	select {
	case now := <-answer:
		return now
	case <-ctx.Done():
		return latest{}
	}
}

// latest is what the node tells.
func (a *agent) latest() latest {
	var now latest
	now.unfinished, now.late = a.node.Latest(a.Ledger.clocks.Boot())
	if last := a.node.View().Last; last != nil {
		now.number = last.Number
	}
	return now
}

func tell(account *node.Account, began time.Time) trace.Account {
	return trace.Account{
		Number:       account.Number,
		Coordinator:  account.Coordinator,
		Epoch:        int64(account.Epoch),
		Began:        began.UTC().Round(time.Microsecond),
		Microseconds: account.Duration.Microseconds(),
		Messages:     messages(account.Messages, account.Begun),
		Omitted:      account.Omitted,
	}
}

func messages(all []node.Exchange, begun lease.Instant) []trace.Message {
	told := make([]trace.Message, len(all))
	for i, m := range all {
		told[i] = trace.Message{
			Microseconds: (m.At - begun).Microseconds(),
			From:         m.From,
			To:           m.To,
			Kind:         string(m.Kind),
			Process:      m.Process,
			Incarnation:  m.Incarnation,
			Sequence:     m.Sequence,
		}
	}
	return told
}

// accountBytes is about how much memory an account takes.
func accountBytes(a trace.Account) int {
	const each = 112 // of a message without its names
	n := 2*each + len(a.ID) + len(a.Coordinator) + len(a.Initiator) + len(a.Reason)
	for _, m := range a.Messages {
		n += each + len(m.From) + len(m.To) + len(m.Kind) + len(m.Process)
	}
	return n
}

// ServeHTTP answers with the accounts. It permits nothing, and opens no session.
func (a *Accounts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	write(w, http.StatusOK, a.read(r.Context()))
}
