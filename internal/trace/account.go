package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Accounts are what an agent tells of its last elections, at GET /v1/elections.
type Accounts struct {
	// Process is the name of the process; empty before it has a roster.
	Process string `json:"process"`
	// Group is the name of its group.
	Group string `json:"group,omitempty"`
	// Incarnation is the start of the agent that tells this. It knows nothing of earlier ones.
	Incarnation uint64 `json:"incarnation"`
	// Elections are the last ones, newest first. The first may go on still.
	Elections []Account `json:"elections"`
}

// Account is what one process tells of one election.
type Account struct {
	// Number counts the accounts of this incarnation: a higher one is of later.
	Number uint64 `json:"number"`
	// ID names the announcement that ended the election, as status.elections does; empty: there was
	// none, or the election goes on.
	ID string `json:"id,omitempty"`
	// Coordinator is whom the process followed in the end; empty: the election goes on.
	Coordinator string `json:"coordinator,omitempty"`
	// Epoch is that of the coordinator's lease; 0 in a Classic group.
	Epoch int64 `json:"epoch,omitempty"`
	// Initiator is who called the election, and Reason why this process took part, as far as it
	// knows.
	Initiator string `json:"initiator,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	// Began is when the process lost its coordinator or first took part, by the wall clock of its
	// machine. Microseconds is how long that was before it followed one, or before now.
	Began        time.Time `json:"began"`
	Microseconds int64     `json:"durationMicroseconds"`
	// Messages are those that the process sent and received, in its order: the newest ones. Omitted is
	// how many came before them.
	Messages []Message `json:"messages"`
	Omitted  int       `json:"omittedMessages,omitempty"`
}

// Message is a message as its sender or its receiver tells of it. From, Incarnation and Sequence
// are its identity.
type Message struct {
	// Microseconds is when the process that tells this sent or received it, from when its account
	// began, by its own clock.
	Microseconds int64  `json:"microseconds"`
	From         string `json:"from"`
	To           string `json:"to"`
	Kind         string `json:"kind"`
	// Process is whom the message is about, such as who coordinates.
	Process string `json:"process,omitempty"`
	// Incarnation is the sender's. Sequence counts what the sender has sent of elections in it.
	Incarnation uint64 `json:"incarnation"`
	Sequence    uint64 `json:"sequence,omitempty"`
}

// MaxBytes is how long an agent's answer may be: more than the longest that an agent gives.
const MaxBytes = 2 << 20

// The bounds of what is used of an answer, more than an agent gives.
const (
	maxElections = 16
	maxMessages  = 256 // of one election
	maxName      = 253 // bytes
	maxUsed      = 256 << 10
)

// Read reads an agent's answer. An agent, or who takes its place, may answer anything: what is used
// of it is bounded.
func Read(r io.Reader) (Accounts, error) {
	var a Accounts
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return a, err
	}
	if len(text) > MaxBytes {
		return a, fmt.Errorf("the answer has more than %d bytes: it is not an agent's", MaxBytes)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return Accounts{}, fmt.Errorf("the answer is no account of elections: %w", err)
	}
	return a.bounded(), nil
}

// bounded leaves the newest of what is more than an agent tells.
func (a Accounts) bounded() Accounts {
	cut(&a.Process, &a.Group)
	used := 0
	for i := range a.Elections {
		e := &a.Elections[i]
		if extra := len(e.Messages) - maxMessages; extra > 0 {
			e.Messages = e.Messages[extra:]
			e.Omitted += extra
		}
		cut(&e.ID, &e.Coordinator, &e.Initiator, &e.Reason, &e.Algorithm)
		for j := range e.Messages {
			m := &e.Messages[j]
			cut(&m.From, &m.To, &m.Kind, &m.Process)
			used += 64 + len(m.From) + len(m.To) + len(m.Kind) + len(m.Process)
		}
		if i > 0 && used > maxUsed || i == maxElections {
			a.Elections = slices.Clone(a.Elections[:i])
			break
		}
	}
	return a
}

// cut shortens what is longer than any name. An election's ID is a little longer than a name.
func cut(all ...*string) {
	for _, s := range all {
		if len(*s) > maxName+64 {
			*s = strings.Clone((*s)[:maxName+64])
		}
	}
}
